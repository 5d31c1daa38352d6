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
	like(ask($holder, "SELECT distlock.acquire('x', '1h', session_bound => true $options)"), qr/^\d+$/, "$what: held");
	my $pid = ask($holder, 'SELECT pg_backend_pid()');
	later($waiter, "SELECT distlock.acquire('x', '1h', wait => '20s' $options)");
	ok(within(10, $look, "SELECT count(*) = 1 FROM distlock.waiters"), "$what: waited for");
	my $before = sql('SELECT clock_timestamp()');
	$end->($holder, $pid);
	like(answer($waiter), qr/^\d+$/, "$what: handed over");
	my $ms = sql("SELECT round(1000 * extract(epoch FROM max(since) - '$before')) FROM distlock.holder('x')");
	cmp_ok($ms, '<', $o{ms} // 500, "$what: soon");
	note("$what: $ms ms");
	sql("SELECT distlock.force_release(name, token) FROM distlock.locks");
	drop_session($holder);
	is(sql('SELECT count(*) FROM pg_locks WHERE objsubid = 211'), 0, "$what: no session lock is left");
	return;
}

handed_over('client killed', sub { $_[0]->{run}->signal('KILL') });
handed_over('client ends', sub { $_[0]->{run}->signal('TERM') });
handed_over('session terminated', sub { sql("SELECT pg_terminate_backend($_[1])") });
handed_over('killed in a transaction', sub { ask($_[0], 'BEGIN; SELECT 1'); $_[0]->{run}->signal('KILL') });
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

# A waiter whose client has died does not keep its backend, neither the head nor one behind it, nor a watcher.
my $long = ask($look, "SELECT distlock.acquire('dead', '1h')");
my @dead = map { my $s = session($node); later($s, "CALL distlock.acquire_long('dead')"); $s } 1 .. 3;
push @dead, session($node);
later($dead[3], "CALL distlock.watch('dead', $long)");
ok(within(10, $look, "SELECT count(*) = 4 FROM pg_locks WHERE objsubid = 210"), 'three wait and one watches');
$_->{run}->signal('KILL') for @dead;
ok(within(30, $look, "SELECT count(*) = 0 FROM pg_locks WHERE objsubid = 210"), 'their backends go with their clients');
sql("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE objsubid = 210");

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
drop_session($waiter, $look);
done_testing();
