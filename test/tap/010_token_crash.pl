# Tokens never go back in a crash, and no clock is needed for that: the clock is dead throughout.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use Test::More;

# Nothing but our own flushes brings WAL to the disk.
my $clock = Distlock::Clock->new('crash');
my $node = new_node('main', clock => $clock,
	conf => "wal_writer_delay = 10s\nfsync = on\ncommit_siblings = 0\nsynchronous_commit = off");
my $tokens = Distlock::Tokens->new;
$tokens->next($node, 'with a good clock');
$node->stop;
$clock->set($clock->DEAD);
$clock->start($node);
$tokens->next($node, 'after a restart with a dead clock');

sub crash_after
{
	my ($what, @statements) = @_;
	my $session = session($node);
	$session->query('CHECKPOINT');
	$tokens->check(scalar $session->query($_), $what) for @statements;
	$node->stop('immediate');
	drop_session($session);
	$clock->start($node);
	$tokens->next($node, "crash after $what");
}

crash_after('a grant with synchronous_commit = off', "SELECT distlock.try_acquire('a')");
crash_after('a grant that is not durable', "SELECT distlock.try_acquire('aa', durable => false)");
crash_after('a grant that never committed', "BEGIN; SELECT distlock.try_acquire('b')");
crash_after('a grant that was rolled back', "BEGIN; SELECT distlock.try_acquire('b'); ROLLBACK");
crash_after('a grant in a savepoint that was rolled back',
	"BEGIN; SAVEPOINT s; SELECT distlock.try_acquire('b'); ROLLBACK TO s");
crash_after('tokens beyond the last checkpoint',
	"SELECT max(distlock.try_acquire('c' || i)) FROM generate_series(1, 1000) AS i",
	"CHECKPOINT; SELECT max(distlock.try_acquire('d' || i)) FROM generate_series(1, 1000) AS i");
crash_after('a raised sequence', "SELECT distlock.advance_token($tokens->{highest} + 5000000)",
	"BEGIN; SELECT distlock.try_acquire('b')");

# A copied database has the sequence's page, but no WAL of its own that reserves tokens.
for my $strategy (qw(file_copy wal_log))
{
	$node->safe_psql('template1', "CREATE DATABASE $strategy TEMPLATE postgres STRATEGY $strategy");
	my $copied = Distlock::Tokens->new;
	$copied->next($node, "copied database, $strategy", $strategy);
	my $session = session($node, $strategy);
	$copied->check(scalar $session->query("BEGIN; SELECT distlock.try_acquire('b')"), 'in a transaction');
	$node->stop('immediate');
	drop_session($session);
	$clock->start($node);
	$copied->next($node, "crash after a copy, $strategy", $strategy);
}

# The record that reserves A's token sits in a buffer: A's flush sleeps for commit_delay first.  B
# takes the next token, which that record covers, writes and flushes nothing of its own, and the
# server dies as soon as B has its answer.
my ($a, $b) = (session($node), session($node));
$a->query('SET commit_delay = 100000');
my $pid = $a->query('SELECT pg_backend_pid()');
$a->query('CHECKPOINT');
later($b, "DO \$\$ BEGIN
	WHILE NOT EXISTS (SELECT FROM pg_locks WHERE pid = $pid AND objsubid = 209) LOOP
		PERFORM pg_sleep(0.0005);
	END LOOP; END \$\$;
	SELECT distlock.try_acquire('theirs', durable => false)");
later($a, "BEGIN; SELECT distlock.try_acquire('mine')");
my $theirs = $b->query_until(qr/\d+\n/, '');
kill 'QUIT', $node->{_pid};
chomp $theirs;
$tokens->check($theirs, q(a token in another transaction's record));
$node->stop('immediate', fail_ok => 1);
drop_session($a, $b);
$clock->start($node);
$tokens->next($node, q(crash before another transaction's record was flushed));

done_testing();
