# Under load: never more permits than the capacity, also while that changes, never an exclusive holder beside shared
# ones, one caller a slot, one leader a term.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use Test::More;
use Time::HiRes qw(time);

my $node = new_node('main', conf => "fsync = off\nmax_connections = 100\n");
my $look = session($node);
sub sql { return ask($look, @_); }

my $seconds = $ENV{DISTLOCK_LOAD_SECONDS} // 8;

# What a holder knows: held from the answer of its acquire to the call of its release, or to the end of its lease when it dies.
sql(q{
	CREATE TABLE held (lock text, mode text, token bigint, began timestamptz, ended timestamptz);
	CREATE PROCEDURE work(lock text, mode text, capacity int, seconds float) LANGUAGE plpgsql AS $$
	#variable_conflict use_variable
	DECLARE
		token bigint; called timestamptz; began timestamptz; ended timestamptz;
		ends timestamptz := clock_timestamp() + seconds * '1 s'::interval; crash bool;
	BEGIN
		WHILE clock_timestamp() < ends LOOP
			crash := random() < 0.1;
			called := clock_timestamp();
			token := distlock.try_acquire(lock, CASE WHEN crash THEN '20ms' ELSE '10s' END::interval,
				CASE WHEN random() < 0.5 THEN '0' ELSE '1s' END::interval, mode => mode, capacity => capacity, durable => false);
			COMMIT;
			CONTINUE WHEN token IS NULL;
			began := clock_timestamp();
			PERFORM pg_sleep(random() * 0.005);
			ended := CASE WHEN crash THEN called + '20ms' ELSE clock_timestamp() END;
			IF NOT crash THEN PERFORM distlock.release(lock, token); END IF;
			INSERT INTO held VALUES (lock, mode, token, began, ended);
			COMMIT;
		END LOOP;
	END$$});

# All at once, each at another default isolation level.
sub load
{
	my (@calls) = @_;
	my @levels = ('read committed', 'repeatable read', 'serializable');
	my @sessions = map { my $s = session($node); push @levels, my $level = shift @levels;
		ask($s, "SET client_min_messages = warning; SET default_transaction_isolation = '$level'") if $calls[0] =~ /^CALL/;
		later($s, $_); $s } @calls;
	my $errors = join '', map { answer($_) } @sessions;
	drop_session(@sessions);
	return $errors;
}

# The most of these intervals that ever stood at the same time.
sub most
{
	my ($where) = @_;
	return sql(qq{SELECT max(living) FROM (SELECT sum(step) OVER (ORDER BY at, step) AS living
		FROM held, LATERAL (VALUES (began, 1), (ended, -1)) AS e(at, step) WHERE began < ended AND $where) AS s});
}

is(load(map { "CALL work('sem', 'exclusive', 3, $seconds)" } 1 .. 12), '', 'semaphore: no error');
my $most = most("lock = 'sem'");
cmp_ok($most, '<=', 3, 'semaphore: living permits are never more than 3');
cmp_ok($most, '>=', 2, 'semaphore: and more than one at a time');
cmp_ok(sql("SELECT count(*) FROM held WHERE lock = 'sem'"), '>', 100, 'semaphore: many grants');
is(sql("SELECT count(*) - count(DISTINCT token) FROM held"), 0, 'semaphore: all tokens differ');

# The capacity goes up and down meanwhile.  Who got a permit named the capacity that was in force: so many live then at
# most, the new one counted.  The newest of those that live at some moment was the last to be admitted.
sql(q{
	CREATE TABLE capacity_now (n int);
	INSERT INTO capacity_now VALUES (3);
	CREATE TABLE permit (token bigint, capacity int, began timestamptz, ended timestamptz);
	CREATE TABLE changed (capacity int, living bigint);
	CREATE PROCEDURE work_permits(seconds float) LANGUAGE plpgsql AS $$
	DECLARE
		n int; t bigint; called timestamptz; began timestamptz; ended timestamptz;
		ends timestamptz := clock_timestamp() + seconds * '1 s'::interval; crash bool;
	BEGIN
		WHILE clock_timestamp() < ends LOOP
			crash := random() < 0.1;
			n := (SELECT c.n FROM capacity_now AS c);
			COMMIT;
			called := clock_timestamp();
			BEGIN
				t := distlock.try_acquire('varies', CASE WHEN crash THEN '20ms' ELSE '10s' END::interval,
					CASE WHEN random() < 0.5 THEN '0' ELSE '50ms' END::interval, capacity => n, durable => false);
			EXCEPTION WHEN invalid_parameter_value THEN t := NULL; -- it has changed
			END;
			COMMIT;
			CONTINUE WHEN t IS NULL;
			began := clock_timestamp();
			PERFORM pg_sleep(random() * 0.02);
			ended := CASE WHEN crash THEN called + '20ms' ELSE clock_timestamp() END;
			IF NOT crash THEN PERFORM distlock.release('varies', t); END IF;
			INSERT INTO permit VALUES (t, n, began, ended);
			COMMIT;
		END LOOP;
	END$$;
	CREATE PROCEDURE change_capacity(seconds float) LANGUAGE plpgsql AS $$
	DECLARE
		next int; ends timestamptz := clock_timestamp() + seconds * '1 s'::interval;
	BEGIN
		WHILE clock_timestamp() < ends LOOP
			next := 1 + floor(random() * 6);
			PERFORM distlock.set_capacity('varies', next);
			UPDATE capacity_now SET n = next;
			INSERT INTO changed SELECT next, count(*) FROM distlock.holder('varies') WHERE state = 'held';
			COMMIT;
			PERFORM pg_sleep(random() * 0.05);
		END LOOP;
	END$$;
	SELECT distlock.set_capacity('varies', 3)});
is(load("CALL change_capacity($seconds)", map { "CALL work_permits($seconds)" } 1 .. 11), '', 'capacity: no error');
is(sql(q{SELECT count(*) FROM permit AS g, LATERAL (
		SELECT count(*) AS living, (array_agg(p.capacity ORDER BY p.token DESC))[1] AS capacity
		FROM permit AS p WHERE p.began <= g.began AND g.began < p.ended) AS at
	WHERE at.living > at.capacity}), 0, 'capacity: nobody was admitted beside as many as there may be');
cmp_ok(sql('SELECT count(DISTINCT capacity) FROM permit'), '==', 6, 'capacity: permits under each one');
cmp_ok(sql('SELECT count(*) FROM changed WHERE living > capacity'), '>', 3, 'capacity: lowered below what lived then');
cmp_ok(sql('SELECT count(*) FROM changed'), '>', 50, 'capacity: changed often');

is(load((map { "CALL work('rw', 'shared', 1, $seconds)" } 1 .. 8), (map { "CALL work('rw', 'exclusive', 1, $seconds)" } 1 .. 3)),
	'', 'shared and exclusive: no error');
is(most("lock = 'rw' AND mode = 'exclusive'"), 1, 'one exclusive at a time');
cmp_ok(most("lock = 'rw' AND mode = 'shared'"), '>=', 2, 'shared ones beside one another');
is(sql(q{SELECT count(*) FROM held AS w JOIN held AS r ON tstzrange(w.began, greatest(w.began, w.ended)) && tstzrange(r.began, greatest(r.began, r.ended))
	WHERE w.lock = 'rw' AND r.lock = 'rw' AND w.mode = 'exclusive' AND r.mode = 'shared'}), 0, 'no exclusive beside a shared one');
cmp_ok(sql("SELECT count(*) FROM held WHERE lock = 'rw' AND mode = 'exclusive'"), '>', 10, 'exclusive ones are not starved');

# Many callers of each slot, at the same moment.
sql(q{CREATE TABLE ran (slot int, token bigint, attempt int)});
is(load(map { q{DO $$DECLARE t bigint; s timestamptz; BEGIN FOR i IN 1..20 LOOP
	s := '2026-01-01 00:00+00'::timestamptz + i * '1 min'::interval;
	LOOP
		BEGIN
			t := distlock.begin_run('job', s, '2s');
		EXCEPTION WHEN invalid_parameter_value THEN EXIT; -- a later slot is finished
		END;
		COMMIT;
		IF t IS NOT NULL THEN
			INSERT INTO ran VALUES (i, t); COMMIT;
			PERFORM pg_sleep(0.01);
			IF NOT distlock.end_run('job', s, t) THEN RAISE 'not ended'; END IF; COMMIT;
		END IF;
		EXIT WHEN EXISTS (SELECT FROM distlock.job WHERE last_slot >= s);
		PERFORM pg_sleep(0.002);
	END LOOP;
END LOOP; END$$} } 1 .. 20), '', 'run once: no error');
is(sql('SELECT count(*), count(DISTINCT slot) FROM ran'), '20|20', 'run once: each slot ran once');
is(sql(q{SELECT count(*), max(attempt) FROM distlock.runs WHERE job = 'job' AND state = 'finished'}), '20|1', 'run once: in the history');

# acquire_all crosswise.
is(load(map { my $names = $_ % 2 ? "'a', 'b', 'c'" : "'c', 'b', 'a'"; qq{DO \$\$DECLARE r record; BEGIN FOR i IN 1..20 LOOP
	FOR r IN SELECT * FROM distlock.acquire_all(ARRAY[$names], wait => '60s', durable => false) LOOP
		PERFORM set_config('my.' || r.name, r.token::text, false); END LOOP;
	COMMIT;
	PERFORM distlock.release(n, current_setting('my.' || n)::bigint) FROM unnest(ARRAY[$names]) AS n;
	COMMIT;
END LOOP; END\$\$} } 1 .. 8), '', 'acquire_all crosswise: all finish');

# Removing what is free, beside renewals of many leases in two orders and grants: nobody gets an error, nothing is lost.
ask($look, q{CREATE TABLE living AS SELECT name, token FROM distlock.acquire_all(
	(SELECT array_agg('lives ' || i) FROM generate_series(1, 20) AS i), '1h')});
is(load((map { my $order = $_ % 2 ? 'ASC' : 'DESC'; qq{DO \$\$BEGIN FOR i IN 1..100 LOOP
	IF (SELECT count(expires_at) FROM distlock.renew_many((SELECT array_agg(name ORDER BY name $order) FROM living),
		(SELECT array_agg(token ORDER BY name $order) FROM living))) < 20 THEN RAISE 'lost'; END IF;
	COMMIT; END LOOP; END\$\$} } 1 .. 4),
	q{DO $$BEGIN FOR i IN 1..100 LOOP PERFORM distlock.prune('0'); COMMIT; END LOOP; END$$},
	(map { q{DO $$BEGIN FOR i IN 1..100 LOOP
	PERFORM distlock.release(n, t) FROM (SELECT n, distlock.try_acquire(n, '1s', durable => false) AS t FROM (SELECT 'goes ' || i % 7 AS n) AS names OFFSET 0) AS got
	WHERE t IS NOT NULL;
	COMMIT; END LOOP; END$$} } 1 .. 2)), '', 'renewals beside cleaning: no error');

# Election: candidates wait with acquire_long, the leader's client is killed again and again.
my $candidates = 50;
my %candidate;
sql(q{CREATE TABLE led (term bigint, candidate text, began timestamptz DEFAULT clock_timestamp(), ended timestamptz)});
sub stand
{
	my ($i) = @_;
	$candidate{$i} = session($node);
	later($candidate{$i}, "CALL distlock.acquire_long('boss', '5s', owner => '$i', metadata => '{\"address\": \"node $i\"}',
		session_bound => true) \\gset\nINSERT INTO led VALUES (:token, '$i')");
	return;
}
stand($_) for 1 .. $candidates;
my $watcher = session($node);
my ($last, @gaps) = (0);
for my $round (1 .. 20)
{
	my $seen = ask($watcher, "CALL distlock.watch('boss', $last, '20s')");
	$seen = ask($watcher, "CALL distlock.watch('boss', 0, '20s')") if $seen eq '0';
	my @leader = split /\|/, sql("SELECT term, owner, metadata->>'address' FROM distlock.leader('boss')");
	is($leader[0], $seen, "round $round: the observer sees the latest leader");
	is($leader[2], "node $leader[1]", "round $round: and its address");
	cmp_ok($leader[0], '>', $last, "round $round: a higher term");
	is(sql("SELECT count(*) FROM distlock.locks WHERE name = 'boss' AND state = 'held'"), 1, "round $round: one leader");
	$last = $leader[0];
	ok(within(20, $look, "SELECT count(*) > 0 FROM led WHERE term = $last"), "round $round: it knows that it leads");
	sql("UPDATE led SET ended = clock_timestamp() WHERE term = $last");
	my $killed = time();
	$candidate{ $leader[1] }->{run}->signal('KILL');
	my $next = ask($watcher, "CALL distlock.watch('boss', $last, '20s')");
	push @gaps, time() - $killed;
	drop_session($candidate{ $leader[1] });
	stand($leader[1]);
}
is(sql('SELECT count(*) - count(DISTINCT term) FROM led'), 0, 'no term had two leaders');
is(sql(q{SELECT count(*) FROM (SELECT began < lag(ended) OVER (ORDER BY term) OR began < lag(began) OVER (ORDER BY term) AS wrong
	FROM led) AS reigns WHERE wrong}), 0, 'no two led at a time, and who led later has the higher term');
note(sprintf 'a new leader after %.0f ms at most', 1000 * (sort { $b <=> $a } @gaps)[0]);
cmp_ok((sort { $b <=> $a } @gaps)[0], '<', 3, 'a new leader long before the lease would have ended');
drop_session(values %candidate, $watcher, $look);
done_testing();
