# Processes die at any moment, sessions and whole servers: the table reads correctly at once, every
# lock is obtainable within its ttl, and nothing is left in the server's lock table.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', conf => q(
restart_after_crash = on
log_statement = none
max_pred_locks_per_transaction = 256
distlock.max_wait = 5min
));
my $admin = session($node);
sub sql { return ask($admin, @_); }

# The operating system has closed its socket when this returns.
sub kill_client
{
	my ($session) = @_;
	$session->{run}->signal('KILL');
	eval { $session->{run}->finish };
	return;
}

# Waiters that are cancelled, terminated, or whose client dies, as head of the queue and behind it.
my $waiting = q{SELECT string_agg(owner, ' ' ORDER BY position) FROM distlock.waiters WHERE name = 'queue'};
my $token = sql(q{SELECT distlock.try_acquire('queue', ttl => '1h')});
my (%waiter, %pid);
my @names = qw(cancelled terminated vanished lives late_vanished last);
for my $name (@names)
{
	$waiter{$name} = session($node);
	$pid{$name} = ask($waiter{$name}, 'SELECT pg_backend_pid()');
	later($waiter{$name}, "SELECT distlock.acquire('queue', wait => '2min', owner => '$name')");
	ok(within(10, $admin, "SELECT count(*) = 1 FROM distlock.waiters WHERE owner = '$name'"), "$name waits");
}
is(sql($waiting), "@names", 'in the order of arrival');
sql("SELECT pg_cancel_backend($pid{cancelled})");
like(answer($waiter{cancelled}), qr/57014/, 'the head is cancelled');
sql("SELECT pg_terminate_backend($pid{terminated})");
ok(within(10, $admin, "SELECT ($waiting) = 'vanished lives late_vanished last'"), 'the next head is terminated');
kill_client($waiter{$_}) for qw(vanished late_vanished);
is(sql("SELECT distlock.release('queue', $token)"), 'released', 'released');
my $next = answer($waiter{lives}) =~ s/^sent\n//r;
cmp_ok($next, '>', $token, 'who lives is granted the lock');
is(sql("SELECT distlock.release('queue', $next)"), 'released', 'and releases it');
cmp_ok(answer($waiter{last}) =~ s/^sent\n//r, '>', $next, 'who is behind a dead client too');
is(sql(q{SELECT grants FROM distlock.holder('queue')}), 3, 'the dead were granted nothing');
drop_session(values %waiter);
ok(within(10, $admin, 'SELECT count(*) = 0 FROM pg_locks WHERE objsubid BETWEEN 209 AND 211'), 'no lock of ours is left');

# Many first acquire the same new name, each in a transaction that stays open.
my @crowd = map { session($node) } 1 .. 20;
later($_, q{BEGIN; SELECT distlock.try_acquire('new name')}) for @crowd;
my @answers = map { answer($_) } @crowd;
is(scalar(grep { /^\d+$/m } @answers), 1, 'one of twenty first acquirers wins');
unlike("@answers", qr/ERROR/, 'and none gets an error');
drop_session(@crowd);

# A backend is killed in the middle of its work, several times over.
$node->safe_psql('postgres', q{
	CREATE TABLE work (id int PRIMARY KEY, done bigint, fence bigint);
	INSERT INTO work SELECT i, 0 FROM generate_series(1, 4) AS i;
	SELECT distlock.protect('work', 'work {id}', token_column => 'fence')});
my $script = "$PostgreSQL::Test::Utils::tmp_check/worker.sql";
append_to_file($script, q{
\set i random(1, 4)
SELECT distlock.try_acquire('work ' || :i, ttl => '1s', wait => '10s') AS token \gset
BEGIN;
UPDATE work SET done = done + 1, fence = :token WHERE id = :i;
COMMIT;
SELECT distlock.renew('work ' || :i, :token);
SELECT distlock.release('work ' || :i, :token);
});
$admin->quit;
for my $round (1 .. 4)
{
	my $load = IPC::Run::start([ 'pgbench', '-n', '-c', '4', '-T', '60', '-f', $script, $node->connstr('postgres') ],
		'<', \undef, '>', \my $out, '2>', \my $err);
	ok(within(30, $node, "SELECT sum(done) > $round * 40 FROM work"), "round $round: at work");
	my $victim = $node->safe_psql('postgres', q{
		SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
		ORDER BY random() LIMIT 1});
	is(kill('KILL', $victim), 1, "round $round: killed");
	$load->finish;
	ok($node->poll_query_until('postgres', 'SELECT true'), "round $round: the server is back");
	for my $i (1 .. 4)
	{
		my $taken = ask($node, "SELECT distlock.acquire('work $i', ttl => '1s', wait => '2s')");
		like($taken, qr/^\d+$/, "round $round: lock $i is obtainable within its ttl");
	}
}
$admin = session($node);
is(sql(q{SELECT count(*), count(DISTINCT name) FROM distlock.lease WHERE name LIKE 'work _'}), '4|4', 'one row a lock');
is(ours_locked($admin), 0, 'no lock of ours is left');

# At SERIALIZABLE strangers who meet on a page of ours never end in 40001.
sql(q{ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'});
$node->pgbench('-n -c 4 -t 500', 0, [ qr/processed: 2000\/2000/, qr/failed transactions: 0/ ], [qr/^$/], 'at SERIALIZABLE',
	{ 'serializable' => q{
\set i random(1, 20)
\set j random(21, 40)
BEGIN;
SELECT distlock.try_acquire('ser ' || :i, durable => false) AS a, distlock.try_acquire('ser ' || :j, durable => false) AS b \gset
SELECT count(*) FROM distlock.locks;
COMMIT;
SELECT distlock.release(name, token) FROM distlock.locks WHERE token IN (0:a, 0:b);
} });
sql('ALTER DATABASE postgres RESET default_transaction_isolation');

# Rows of names that are used once go, and no commit fails by it.
$node->append_conf('postgresql.conf', 'distlock.retention = 0');
$node->reload;
ok(within(10, $admin, q{SELECT current_setting('distlock.retention') = '0'}), 'retention = 0');
$node->pgbench('-n -c 4 -t 5000', 0, [ qr/processed: 20000\/20000/, qr/failed transactions: 0/ ], [qr/^$/], '20,000 names',
	{ 'churn' => q{
\set i random(1, 1000000000000)
BEGIN;
SELECT distlock.release('once ' || :i, distlock.try_acquire('once ' || :i, durable => false));
COMMIT;
} });
my $left = sql('SELECT count(*) FROM distlock.lease');
note "$left rows";
cmp_ok($left, '<', 10000, 'most of their rows are gone, without a vacuum');

$admin->quit;

done_testing();
