# Under load: never more permits than the capacity, never an exclusive holder beside shared ones, one caller a slot, one leader a term.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use Test::More;
use Time::HiRes qw(time);

my $node = new_node('main', conf => "fsync = off\n");
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

sub load
{
	my (@calls) = @_;
	my @sessions = map { my $s = session($node); later($s, $_); $s } @calls;
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

# Election: candidates wait with acquire_long, the leader's client is killed again and again.
my $candidates = 30;
my %candidate;
sub stand { my ($i) = @_; $candidate{$i} = session($node);
	later($candidate{$i}, "CALL distlock.acquire_long('boss', '5s', owner => '$i', metadata => '{\"address\": \"node $i\"}', session_bound => true)"); return; }
stand($_) for 1 .. $candidates;
my $watcher = session($node);
my ($last, @terms, @gaps) = (0);
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
	push @terms, $leader[0];
	my $killed = time();
	$candidate{ $leader[1] }->{run}->signal('KILL');
	my $next = ask($watcher, "CALL distlock.watch('boss', $last, '20s')");
	push @gaps, time() - $killed;
	drop_session($candidate{ $leader[1] });
	stand($leader[1]);
}
my %once = map { $_ => 1 } @terms;
is(scalar(keys %once), scalar(@terms), 'no term had two leaders');
note(sprintf 'a new leader after %.0f ms at most', 1000 * (sort { $b <=> $a } @gaps)[0]);
cmp_ok((sort { $b <=> $a } @gaps)[0], '<', 3, 'a new leader long before the lease would have ended');
drop_session(values %candidate, $watcher, $look);
done_testing();
