# Nobody blocks a lock for longer than its lease plus distlock.evict_after, however it hangs.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use Test::More;

my $node = new_node('main', allows_streaming => 1, conf => q(
distlock.evict_after = 500ms
max_prepared_transactions = 5
));
my $other = session($node);

sub sql { return ask($other, @_); }

sql(q{
	CREATE TABLE work (note text, fence bigint);
	SELECT distlock.protect('work', 'fenced', token_column => 'fence')});

# A session whose client stops after these statements: itself, its process, and :ends, the moment
# from which nobody has a right to the lock.
sub stopped_session
{
	my (@statements) = @_;
	my $session = session($node);
	my $pid = ask($session, 'SELECT pg_backend_pid()');
	my $answer = ask($session, join(";\n", @statements));
	my $ends = ask($session, q{\echo :ends});
	die $answer if $answer =~ /ERROR/;
	$session->{run}->signal('STOP');
	return ($session, $pid, $ends);
}

sub grant
{
	my ($lock, $ttl) = @_;
	return "SELECT distlock.try_acquire('$lock', ttl => '$ttl') AS token,"
	  . " clock_timestamp() + '$ttl' AS ends \\gset\n";
}

# Another one acquires; the server says how long after that moment the grant was made.
sub granted_within
{
	my ($lock, $ends, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	like(sql("SELECT distlock.acquire('$lock', wait => '20s')"), qr/^\d+$/, "$what: granted");
	my $seconds =
	  sql("SELECT extract(epoch FROM since - '$ends') FROM distlock.holder('$lock')");
	cmp_ok($seconds, '<=', 1.5, "$what: within evict_after + 1 s");
	return $seconds;
}

# The client finds out.
sub was_evicted
{
	my ($session, $lock, $pid, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$session->{run}->signal('CONT');
	later($session, 'COMMIT');
	$session->{run}->finish;
	like($session->{stderr}, qr/FATAL:  57P01/, "$what: its client sees 57P01");
	ok($node->log_contains(qr/terminated process $pid, whose open transaction kept lock "$lock"/),
		"$what: the log names lock and process");
	return;
}

# The holder's process stops in the middle of a fenced transaction.
my ($session, $pid, $ends) = stopped_session(grant('fenced', '1s'), 'BEGIN',
	"INSERT INTO work VALUES ('stopped', :token)");
is(sql("SELECT pinned_by FROM distlock.holder('fenced')"), "{$pid}", 'the view shows who pins');
my $took = granted_within('fenced', $ends, 'fenced transaction');
cmp_ok($took, '>=', 0.49, 'fenced transaction: not before evict_after has passed');
was_evicted($session, 'fenced', $pid, 'fenced transaction');
is(sql('SELECT count(*) FROM work'), 0, 'fenced transaction: its write is gone');

# It stops before it has committed its grant.
($session, $pid, $ends) = stopped_session('BEGIN', grant('uncommitted', '500ms'));
granted_within('uncommitted', $ends, 'uncommitted grant');
was_evicted($session, 'uncommitted', $pid, 'uncommitted grant');

sql(q{SELECT distlock.release('again', distlock.try_acquire('again'))});
($session, $pid, $ends) = stopped_session('BEGIN', grant('again', '500ms'));
granted_within('again', $ends, 'uncommitted grant of a known lock');
was_evicted($session, 'again', $pid, 'uncommitted grant of a known lock');

# Its heartbeat, on another connection, releases while the transaction hangs.
($session, $pid) = stopped_session(grant('released', '1h'), 'BEGIN',
	"SELECT distlock.fence('released', :token)");
sql(q{SELECT distlock.release(name, token) FROM distlock.holder('released')});
granted_within('released', sql('SELECT clock_timestamp()'), 'released while pinned');
was_evicted($session, 'released', $pid, 'released while pinned');

# A try does not wait: it terminates, and one of the next succeeds.
($session, $pid, $ends) = stopped_session(grant('tried', '500ms'), 'BEGIN',
	"SELECT distlock.fence('tried', :token)");
ok(within(10, $other, "SELECT distlock.try_acquire('tried') IS NOT NULL"), 'tries get there too');
was_evicted($session, 'tried', $pid, 'tries');

# A crowd of zombies, each fencing for as long as it is let.
my @zombies = map { session($node) } 1 .. 8;
my ($token, $expires) = split /\|/, sql(q{
	SELECT token, expires_at FROM (SELECT distlock.try_acquire('crowded', ttl => '500ms')) AS t,
		distlock.holder('crowded')});
later($_, "DO \$\$ BEGIN LOOP
	PERFORM distlock.fence('crowded', $token); PERFORM pg_sleep(0.1 + 0.2 * random()); COMMIT;
	END LOOP; END \$\$") for @zombies;
granted_within('crowded', $expires, 'crowd of zombies');
drop_session(@zombies);

# That works because the fence refuses what has been over for too long, though nobody else was
# granted it.
$token = sql("SELECT distlock.try_acquire('old', ttl => '100ms')");
ok(within(5, $other, "SELECT state = 'expired' FROM distlock.holder('old')"), 'expired');
is(sql("SELECT distlock.fence('old', $token)"), $token, 'a while the token still counts');
ok(within(5, $other, "SELECT clock_timestamp() > expires_at + '500ms' FROM distlock.holder('old')"),
	'expired for longer than evict_after');
like(sql("SELECT distlock.fence('old', $token)"), qr/LK001/, 'then it is refused');
is(sql("SELECT distlock.is_current('old', $token)"), 'f', 'and not current');

# A prepared transaction has no process that could be terminated.
$token = sql("SELECT distlock.try_acquire('prepared')");
for my $call (qw(fence renew release))
{
	like(sql("BEGIN; SELECT distlock.$call('prepared', $token); PREPARE TRANSACTION 'p'"), qr/0A000/,
		"PREPARE after $call");
}
like(sql("BEGIN; SELECT distlock.try_acquire('new'); PREPARE TRANSACTION 'p'"), qr/0A000/, 'PREPARE after a grant');
is(sql("BEGIN; SELECT 1; PREPARE TRANSACTION 'p'; ROLLBACK PREPARED 'p'"), 1,
	'other transactions can be prepared');

# One that renews the grant it has not committed yet is alive.
($session, $pid) = stopped_session('BEGIN', grant('renewed', '100ms'),
	"SELECT distlock.renew('renewed', :token, '1h')");
is(sql("SELECT distlock.try_acquire('renewed', wait => '2s')"), '', 'renewed in its transaction: kept');
ok(!$node->log_contains(qr/terminated process $pid\b/), 'renewed in its transaction: not evicted');
drop_session($session);

# Only who pins this lock, not who pins another.
my ($bystander) = stopped_session(grant('theirs', '1h'), 'BEGIN', "SELECT distlock.fence('theirs', :token)");
($session, $pid, $ends) = stopped_session(grant('mine', '500ms'), 'BEGIN', "SELECT distlock.fence('mine', :token)");
granted_within('mine', $ends, 'beside a bystander');
$bystander->{run}->signal('CONT');
is(ask($bystander, 'SELECT 1'), 1, 'the holder of another lock lives');
drop_session($bystander, $session);

# A committer that waits for its synchronous standby would commit when it is terminated.
sql(q{SELECT FROM distlock.holder('fenced') AS h, distlock.force_release(h.name, h.token)});
$session = session($node);
$pid = ask($session, 'SELECT pg_backend_pid()');
my $names = q{SELECT current_setting('synchronous_standby_names') =};
ask($session, grant('fenced', '1s') . q{; BEGIN; INSERT INTO work VALUES ('waiting', :token)});
$node->append_conf('postgresql.conf', q(synchronous_standby_names = 'nobody'));
$node->reload;
ok(within(10, $other, "$names 'nobody'"), 'no standby');
later($session, 'COMMIT');
ok(within(10, $other, "SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = $pid"),
	'the fenced transaction waits for its standby');
sql('SET synchronous_commit = local');
is(sql(q{SELECT distlock.try_acquire('fenced', wait => '2s', durable => false)}), '', 'not granted meanwhile');
ok(!$node->log_contains(qr/terminated process $pid\b/), 'nor terminated');
$node->append_conf('postgresql.conf', q(synchronous_standby_names = ''));
$node->reload;
is(answer($session), '', 'then it commits');
is(sql('SELECT note FROM work'), 'waiting', 'and its write stands');
like(sql("SELECT distlock.try_acquire('fenced')"), qr/^\d+$/, 'the lock is free again');
$session->quit;

# evict_after = -1: nobody is terminated; the fence refuses after the retention.
$node->append_conf('postgresql.conf', "distlock.evict_after = -1\ndistlock.retention = 2s");
$node->reload;
ok(within(10, $other, q{SELECT current_setting('distlock.evict_after') = '-1'}), 'evict_after = -1');
($session, $pid, $ends) = stopped_session(grant('spared', '500ms'), 'BEGIN', "SELECT distlock.fence('spared', :token)");
$token = sql(q{SELECT token FROM distlock.holder('spared')});
ok(within(5, $other, "SELECT clock_timestamp() > '$ends'::timestamptz + '600ms'"), 'over');
is(sql("SELECT distlock.fence('spared', $token)"), $token, 'the token counts for longer');
ok(within(5, $other, "SELECT clock_timestamp() > '$ends'::timestamptz + '2s'"), 'over for long');
like(sql("SELECT distlock.fence('spared', $token)"), qr/LK001/, 'but not beyond the retention');
is(sql("SELECT distlock.try_acquire('spared', wait => '200ms')"), '', 'the lock stays pinned');
ok(!$node->log_contains(qr/terminated process $pid\b/), 'and nobody is terminated');
drop_session($session);

done_testing();
