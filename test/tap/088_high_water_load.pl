# High-water marks under load: an outside service hands out epochs, writers with old and equal ones come late and in
# any order. Under one resource no older token's write follows a newer one's, and equal ones go side by side.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use Test::More;

# Writers of one row queue for it and for the mark: a waiting raise may close a circle that the detector opens again.
my $node = new_node('main', conf => "fsync = off\ndeadlock_timeout = 10ms\n");
my $look = session($node);
sub sql { return ask($look, @_); }

my $seconds = $ENV{DISTLOCK_LOAD_SECONDS} // 8;

# The row's counter gives the order of its writes. passed: when the check had answered; done: just before the commit.
sql(q{
	CREATE TABLE service (id int PRIMARY KEY, epoch bigint);
	CREATE TABLE fenced (id int PRIMARY KEY, v bigint, fence bigint);
	CREATE TABLE plain (id int PRIMARY KEY, v bigint, fence bigint);
	CREATE TABLE written (kind text, id int, v bigint, token bigint, passed timestamptz, done timestamptz);
	CREATE TABLE refused (kind text, code text);
	INSERT INTO service SELECT i, 1 FROM generate_series(1, 3) AS i;
	INSERT INTO fenced SELECT i, 0 FROM generate_series(1, 3) AS i;
	INSERT INTO plain TABLE fenced;
	SELECT distlock.protect('fenced', 'r:{id}', 'high_water', 'fence');
	CREATE PROCEDURE work(kind text, seconds float) LANGUAGE plpgsql AS $$
	#variable_conflict use_variable
	DECLARE
		ends timestamptz := clock_timestamp() + seconds * '1 s'::interval;
		r int; mine bigint; v bigint; passed timestamptz; code text; by_function bool;
	BEGIN
		WHILE clock_timestamp() < ends LOOP
			r := 1 + floor(random() * 3);
			BEGIN
				IF random() < 0.1 THEN
					UPDATE service AS s SET epoch = s.epoch + 1 WHERE s.id = r RETURNING epoch INTO mine;
				ELSE
					SELECT epoch INTO mine FROM service AS s WHERE s.id = r;
				END IF;
			EXCEPTION WHEN serialization_failure THEN
				mine := NULL;
			END;
			COMMIT;
			CONTINUE WHEN mine IS NULL;
			PERFORM pg_sleep(CASE WHEN random() < 0.3 THEN random() * 0.03 ELSE 0 END);
			-- As documented: the token is shown first, in a transaction of its own.
			code := NULL;
			BEGIN
				IF kind = 'fenced' THEN PERFORM distlock.high_water('r:' || r, mine); END IF;
			EXCEPTION WHEN SQLSTATE 'LK001' OR lock_not_available THEN
				code := SQLSTATE;
			END;
			COMMIT;
			CONTINUE WHEN code = '55P03';
			PERFORM pg_sleep(CASE WHEN random() < 0.3 THEN random() * 0.02 ELSE 0 END);
			by_function := random() < 0.5;
			COMMIT;
			BEGIN
				IF kind = 'fenced' AND by_function THEN
					PERFORM distlock.high_water('r:' || r, mine);
					passed := clock_timestamp();
					PERFORM pg_sleep(random() * 0.005);
					UPDATE fenced AS f SET v = f.v + 1 WHERE f.id = r RETURNING f.v INTO v;
				ELSIF kind = 'fenced' THEN
					UPDATE fenced AS f SET v = f.v + 1, fence = mine WHERE f.id = r RETURNING f.v INTO v;
					passed := clock_timestamp();
				ELSE
					UPDATE plain AS f SET v = f.v + 1 WHERE f.id = r RETURNING f.v INTO v;
					passed := clock_timestamp();
				END IF;
				INSERT INTO written VALUES (kind, r, v, mine, passed, clock_timestamp());
			EXCEPTION WHEN SQLSTATE 'LK001' OR lock_not_available OR serialization_failure THEN
				code := SQLSTATE;
			END;
			COMMIT;
			IF code IS NOT NULL THEN INSERT INTO refused VALUES (kind, code); COMMIT; END IF;
		END LOOP;
	END$$});

# A new resource every few milliseconds, and everybody shows it a first token of one of four, at the same moment.
sql(q{
	CREATE PROCEDURE race(seconds float) LANGUAGE plpgsql AS $$
	#variable_conflict use_variable
	DECLARE
		ends timestamptz := clock_timestamp() + seconds * '1 s'::interval;
		tick bigint; mine bigint; passed timestamptz;
	BEGIN
		WHILE clock_timestamp() < ends LOOP
			COMMIT;
			mine := 1 + floor(random() * 4);
			tick := extract(epoch FROM clock_timestamp()) * 50;
			PERFORM pg_sleep(0.02 * (tick + 1) - extract(epoch FROM clock_timestamp()));
			BEGIN
				PERFORM distlock.high_water('new:' || tick, mine);
				passed := clock_timestamp();
				PERFORM pg_sleep(0.002);
				INSERT INTO written VALUES ('new', tick % 100000000, mine, mine, passed, clock_timestamp());
			EXCEPTION WHEN SQLSTATE 'LK001' OR lock_not_available THEN
				INSERT INTO refused VALUES ('new', SQLSTATE);
			END;
		END LOOP;
	END$$});

my @levels = ('read committed', 'repeatable read');
my @sessions;
for my $kind (('fenced') x 12, ('plain') x 4)
{
	my $session = session($node);
	ask($session, "SET default_transaction_isolation = '$levels[@sessions % 2]'");
	later($session, "CALL work('$kind', $seconds)");
	push @sessions, $session;
}
is(join('', map { answer($_) } @sessions), '', 'no error but refusals');
later($_, "CALL race($seconds)") for @sessions;
is(join('', map { answer($_) } @sessions), '', 'nor in the race for new resources');
drop_session(@sessions);

# Writes that came after one under a higher token.
sub stale
{
	my ($kind) = @_;
	return sql(qq{SELECT count(*) FROM (SELECT token < max(token) OVER (PARTITION BY id ORDER BY v) AS stale
		FROM written WHERE kind = '$kind') AS w WHERE stale});
}
# Pairs of writers of one resource that had passed and not yet committed at the same time.
sub beside
{
	my ($kind, $how) = @_;
	return sql(qq{SELECT count(*) FROM written AS a JOIN written AS b ON a.id = b.id AND a.ctid < b.ctid
		AND a.passed < b.done AND b.passed < a.done WHERE a.kind = '$kind' AND b.kind = '$kind' AND a.token $how b.token});
}
note(sql(q{SELECT kind, count(*), count(DISTINCT (id, token)) AS tokens FROM written GROUP BY kind ORDER BY kind}));
note(sql(q{SELECT kind, code, count(*) FROM refused GROUP BY 1, 2 ORDER BY 1, 2}));
cmp_ok(stale('plain'), '>', 0, 'without the fence older tokens write after newer ones');
is(stale('fenced'), 0, 'with it none does');
for my $kind ('fenced', 'new')
{
	cmp_ok(beside($kind, '='), '>', 0, "$kind: writers with equal tokens go side by side");
	is(beside($kind, '<>'), 0, "$kind: writers with different tokens never do");
}
is(sql(q{SELECT count(*) FROM written AS a JOIN written AS b ON a.id = b.id AND a.token > b.token AND a.done < b.passed
	WHERE a.kind = 'new' AND b.kind = 'new'}), 0, 'new: none passes after one under a higher token');
cmp_ok(sql("SELECT count(*) FROM refused WHERE kind = 'fenced' AND code = 'LK001'"), '>', 0, 'stale tokens were tried, and refused');
is(sql(q{SELECT count(*) FROM fenced AS f WHERE f.v <> (SELECT count(*) FROM written AS w WHERE w.kind = 'fenced' AND w.id = f.id)}), 0, 'each write counted once');
is(sql(q{SELECT count(*) FROM written AS w WHERE w.kind = 'fenced' AND w.token > (SELECT max(m.token) FROM distlock.mark AS m WHERE m.resource = 'r:' || w.id)}), 0,
	'the marks are at least as high as every token written under');
sql(q{SELECT distlock.high_water(resource, max(token) + 1) FROM distlock.mark GROUP BY resource});
is(sql('SELECT count(*) - count(DISTINCT resource) FROM distlock.mark'), 0, 'the next raise leaves one row for each resource');
is(ours_locked($node), 0, 'nothing stays locked');
drop_session($look);
done_testing();
