# A session-bound grant ends with its connection, however that ends, and the next waiter has it in milliseconds.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use Test::More;

my $node = new_node('main', conf => "log_min_messages = log\ndistlock.evict_after = 500ms\n");
my $waiter = session($node);
my $look = session($node);

sub sql { return ask($look, @_); }

# Someone else waits, then the holder's connection ends: how many milliseconds later was the next grant made?
sub handed_over
{
	my ($what, $end, %o) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $holder = session($node);
	my $options = $o{options} // '';
	my $take = $o{take} // "SELECT distlock.acquire('x', '1h', session_bound => true $options)";
	my $wait = $o{wait} // "SELECT distlock.acquire('x', '1h', wait => '20s' $options)";
	like(ask($holder, $take), qr/^\d+$/, "$what: held");
	my $pid = ask($holder, 'SELECT pg_backend_pid()');
	later($waiter, $wait);
	ok(within(10, $look, "SELECT count(*) = 1 FROM distlock.waiters"), "$what: waited for");
	my $before = sql('SELECT clock_timestamp()');
	$end->($holder, $pid);
	like(answer($waiter), qr/^\d+$/, "$what: handed over");
	my $ms = sql("SELECT round(1000 * extract(epoch FROM max(since) - '$before')) FROM distlock.holder('x')");
	cmp_ok($ms, '<', $o{ms} // 500, "$what: soon");
	note("$what: $ms ms");
	sql("SELECT distlock.force_release(name, token) FROM distlock.locks WHERE state IN ('held', 'expired')");
	sql('DELETE FROM distlock.lease');  # the next one is of another kind
	drop_session($holder);
	is(sql('SELECT count(*) FROM pg_locks WHERE objsubid = 211'), 0, "$what: no session lock is left");
	return;
}

handed_over('client killed', sub { $_[0]->{run}->signal('KILL') });
handed_over('client ends', sub { $_[0]->{run}->signal('TERM') });
handed_over('session terminated', sub { sql("SELECT pg_terminate_backend($_[1])") });
handed_over('killed in a transaction', sub { ask($_[0], 'BEGIN; SELECT 1'); $_[0]->{run}->signal('KILL') });
# Each kind.
handed_over('shared', sub { $_[0]->{run}->signal('KILL') }, take => "SELECT distlock.acquire('x', '1h', mode => 'shared', session_bound => true)");
handed_over('by acquire_all', sub { $_[0]->{run}->signal('KILL') },
	take => "SELECT min(token) FROM distlock.acquire_all(ARRAY['v', 'w', 'x'], '1h', session_bound => true)",
	wait => "SELECT max(token) FROM distlock.acquire_all(ARRAY['x', 'w'], '1h', '20s')");
handed_over('by acquire_long', sub { $_[0]->{run}->signal('KILL') }, take => "CALL distlock.acquire_long('x', '1h', session_bound => true)",
	wait => "CALL distlock.acquire_long('x', '1h')");
handed_over('downgraded', sub { $_[0]->{run}->signal('KILL') }, take => "SELECT token FROM distlock.acquire('x', '1h', session_bound => true)
	AS token, distlock.downgrade('x', token) AS ends WHERE ends IS NOT NULL");
handed_over('a permit', sub { $_[0]->{run}->signal('KILL') }, options => ', capacity => 2',
	take => "SELECT min(distlock.acquire('x', '1h', capacity => 2, session_bound => true)) FROM generate_series(1, 2)");
handed_over('DISCARD ALL', sub { ask($_[0], 'DISCARD ALL') }, ms => 1500);

# leader and watch know at once, too.
my $boss = session($node);
my $term = ask($boss, "SELECT distlock.acquire('boss', '1h', session_bound => true)");
later($waiter, "CALL distlock.watch('boss', $term, '20s')");
ok(within(10, $look, "SELECT EXISTS (SELECT FROM pg_locks WHERE objsubid = 210 AND mode = 'AccessShareLock')"), 'watched');
my $before = sql('SELECT clock_timestamp()');
$boss->{run}->signal('KILL');
is(answer($waiter), '0', 'the watcher is told that nobody leads');
cmp_ok(sql("SELECT extract(epoch FROM clock_timestamp() - '$before')"), '<', 5, 'soon');
is(sql("SELECT count(*) FROM distlock.leader('boss')"), 0, 'nobody leads');
drop_session($boss);

# Ten thousand bindings leave nothing in the lock table, released or lost.
my $many = session($node);
ask($many, q{DO $$BEGIN FOR i IN 1..10000 LOOP
	PERFORM distlock.release('many', distlock.try_acquire('many', session_bound => true, durable => false));
	COMMIT; END LOOP; END$$});
ask($many, q{DO $$BEGIN FOR i IN 1..20 LOOP
	PERFORM distlock.try_acquire('lost', '10ms', session_bound => true, durable => false);
	COMMIT; PERFORM pg_sleep(0.012); END LOOP; END$$});
cmp_ok(sql('SELECT count(*) FROM pg_locks WHERE objsubid BETWEEN 209 AND 211'), '<=', 1, 'nothing is left');
drop_session($many);

# Nobody waits behind the dead: at the head of the queue or behind it, they are passed by with the release (S-73).
my $held = ask($look, "SELECT distlock.acquire('queue', '1h')");
my @queue;
for my $place (1 .. 4)
{
	push @queue, session($node);
	later($queue[-1], $place < 4 ? "CALL distlock.acquire_long('queue')" : "SELECT distlock.acquire('queue')");
	ok(within(10, $look, "SELECT count(*) = $place FROM distlock.waiters WHERE name = 'queue'"), "number $place waits");
}
$_->{run}->signal('KILL') for @queue[ 0 .. 2 ];
drop_session(@queue[ 0 .. 2 ]);  # once they are gone
sql("SELECT distlock.release('queue', $held)");
my $released = sql('SELECT clock_timestamp()');
like(answer($queue[3]), qr/^\d+$/, 'the living one is served');
cmp_ok(sql("SELECT extract(epoch FROM since - '$released') FROM distlock.holder('queue')"), '<', 1, 'at once');
drop_session($queue[3]);

# A wake-up that never comes is made up for: the head looks again by itself (S-74).
ask($look, "SELECT distlock.acquire('silent', '1h')");
my $patient = session($node);
later($patient, "CALL distlock.acquire_long('silent')");
ok(within(10, $look, "SELECT count(*) = 1 FROM distlock.waiters WHERE name = 'silent'"), 'one waits');
sql("DELETE FROM distlock.lease WHERE name = 'silent'");

# A waiter whose client has died does not keep its backend, neither the head nor one behind it, nor a watcher.
my $long = ask($look, "SELECT distlock.acquire('dead', '1h')");
my @dead = map { my $s = session($node); later($s, "CALL distlock.acquire_long('dead')"); $s } 1 .. 3;
push @dead, session($node);
later($dead[3], "CALL distlock.watch('dead', $long)");
my $theirs = 'FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE objsubid = 210 AND query NOT LIKE $$%silent%$$';
ok(within(10, $look, "SELECT count(*) = 4 $theirs"), 'three wait and one watches');
$_->{run}->signal('KILL') for @dead;
ok(within(30, $look, "SELECT count(*) = 0 $theirs"), 'their backends go with their clients');
sql("SELECT pg_terminate_backend(pid) $theirs");
like(answer($patient), qr/^\d+$/, 'and the one that nobody has woken has the lock');
drop_session($patient);

# Eviction for a permit takes the pinner of that slot only.
sql(q{CREATE TABLE work (id int)});
my ($zombie, $healthy) = (session($node), session($node));
my $z = ask($zombie, "SELECT distlock.acquire('s', '50ms', capacity => 2)");
ask($zombie, "BEGIN; SELECT distlock.fence('s', $z)");
my $h = ask($healthy, "SELECT distlock.acquire('s', '1h', capacity => 2)");
ask($healthy, "BEGIN; SELECT distlock.fence('s', $h)");
like(sql("SELECT distlock.acquire('s', '1h', '20s', capacity => 2)"), qr/^\d+$/, 'a permit whose slot a zombie pins');
like(ask($healthy, "SELECT distlock.fence('s', $h)"), qr/^\d+$/, 'the other holder writes on');
is(sql('SELECT count(*) FROM pg_stat_activity WHERE state LIKE \'idle in transaction\''), 1, 'the zombie is gone');
drop_session($zombie, $healthy);

is(ours_locked($look), 0, 'nothing of ours is left');

# The server goes away and comes back: a leader bound to its session leads no more, and does not take itself for one when
# it is connected again; an unbound one still does (S-83).
$boss = session($node);
my $old = ask($boss, "SELECT distlock.acquire('boss', '1h', session_bound => true)");
my $unbound = ask($look, "SELECT distlock.acquire('unbound', '1h')");
my $semaphore = ask($look, "SELECT distlock.acquire('permits', '1h', capacity => 2)");
$node->stop('immediate');
$node->start;
is(ask($node, "SELECT count(*) FROM distlock.leader('boss')"), 0, 'after a crash: nobody leads');
is(ask($node, "SELECT distlock.renew('boss', $old) IS NULL"), 't', 'after a crash: the old term cannot be renewed');
my $new = ask($node, "SELECT distlock.try_acquire('boss', '1h')");
cmp_ok($new, '>', $old, 'after a crash: the next term is higher');
like(ask($node, "SELECT distlock.fence('boss', $old)"), qr/LK001/, 'after a crash: the old one is refused');
is(ask($node, "SELECT distlock.release('boss', $old)"), 'superseded', 'after a crash: its release changes nothing');
is(ask($node, "SELECT term FROM distlock.leader('boss')"), $new, 'after a crash: the new one leads');
is(ask($node, "SELECT distlock.try_acquire('unbound') IS NULL, distlock.renew('unbound', $unbound) IS NOT NULL"), 't|t',
	'after a crash: a lease that is not bound stands');
is(ask($node, "SELECT distlock.renew('permits', $semaphore) IS NOT NULL, count(distlock.try_acquire('permits', capacity => 2))
	FROM generate_series(1, 3)"), 't|1', 'after a crash: a semaphore has its capacity and its permits (S-100)');
drop_session($boss, $waiter, $look);
done_testing();
