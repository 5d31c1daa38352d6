# High-water marks between sessions, isolation levels, a crash, a standby and a dump.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', allows_streaming => 1, conf => "deadlock_timeout = 10ms\n");
$node->safe_psql('postgres', q{
	CREATE TABLE t (id int PRIMARY KEY, v int, fence bigint);
	SELECT distlock.protect('t', 'r:{id}', 'high_water', 'fence');});
my ($one, $two) = (session($node), session($node));

# The outcome: an SQLSTATE, or what was printed.
sub outcome
{
	my ($where, $sql, $dbname) = @_;
	my $answer = ask($where, $sql, $dbname);
	return $answer =~ /ERROR:\s+(\w{5}):/ ? $1 : $answer;
}

sub mark { return ask($node, "SELECT max(token) FROM distlock.mark WHERE resource = '$_[0]'"); }

for my $level ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
{
	ask($node, 'DELETE FROM distlock.mark; SET session_replication_role = replica; DELETE FROM t');
	my $begin = "BEGIN ISOLATION LEVEL $level";
	ask($node, "SELECT distlock.high_water('r:1', 10)");

	# Writers with the mark's token do not block one another, not even for one lock.
	is(outcome($one, "$begin; INSERT INTO t VALUES (1, 1, 10)"), '', "$level: one writes");
	is(outcome($two, "$begin; SELECT distlock.high_water('r:1', 10)"), '10', "$level: another goes on beside it");
	is(outcome($two, 'COMMIT'), '', "$level: and commits");
	# A raise waits for them; after a second it gives up.
	is(outcome($two, "SELECT distlock.high_water('r:1', 11)"), '55P03', "$level: a raise waits 1 s for an open transaction");
	later($two, "SELECT distlock.high_water('r:1', 12)");
	ok(within(1, $node, q{SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}), "$level: it waits");
	ask($one, 'COMMIT');
	like(answer($two), qr/^(12|.*55P03)/s, "$level: and goes on, unless its second is over");
	ask($two, "SELECT distlock.high_water('r:1', 12)");
	is(outcome($one, "UPDATE t SET v = 2, fence = 10"), 'LK001', "$level: from then on the old token is refused");

	# A snapshot from before does not help the older one.
	ask($one, "$begin; SELECT count(*) FROM t");
	ask($node, "SELECT distlock.high_water('r:1', 20)");
	is(outcome($one, "UPDATE t SET v = 3, fence = 12 WHERE id = 1"), 'LK001', "$level: not under an old snapshot either");
	ask($one, 'ROLLBACK');
	ask($one, "$begin; SELECT count(*) FROM t");
	ask($node, "SELECT distlock.high_water('r:1', 30)");
	is(outcome($one, "SELECT distlock.high_water('r:1', 31)"), '31', "$level: a raise over a mark newer than the snapshot");
	is(outcome($one, 'COMMIT'), '', "$level: commits");

	# Both pinned, both want to raise: one after the other gives up, none is a deadlock victim.
	ask($_, "$begin; SELECT distlock.high_water('r:1', 31)") for $one, $two;
	later($one, "SELECT distlock.high_water('r:1', 32)");
	my $other = outcome($two, "SELECT distlock.high_water('r:1', 33)");
	my $first = answer($one);
	unlike("$other $first", qr/40P01|40001/, "$level: two that want to raise do not deadlock");
	ask($_, 'ROLLBACK') for $one, $two;
	is(mark('r:1'), 31, "$level: and neither has raised");

	# Crosswise, on resources of their own: nobody else's business.
	ask($one, "$begin; SELECT distlock.high_water('a1', 1)");
	ask($two, "$begin; SELECT distlock.high_water('b1', 1)");
	ask($one, "SELECT distlock.high_water('a2', 1)");
	ask($two, "SELECT distlock.high_water('b2', 1)");
	is(outcome($one, 'COMMIT'), '', "$level: strangers commit");
	is(outcome($two, 'COMMIT'), '', "$level: both of them");
}
is(ours_locked($node), 0, 'nothing stays locked');

# The first mark of a resource, by many at once.
my @sessions = map { session($node) } 1 .. 5;
later($_, "SELECT distlock.high_water('first', 7)") for @sessions;
is(join(' ', map { my $a = answer($_); $a =~ /(^\d+|\b\w{5}(?=: ))/ ? $1 : $a } @sessions), '7 7 7 7 7',
	'five sessions make one mark');
drop_session(@sessions);
is(ask($node, "SELECT count(DISTINCT token) FROM distlock.mark WHERE resource = 'first'"), 1, 'whoever wrote it');
ask($node, "SELECT distlock.high_water('first', 8)");
is(ask($node, "SELECT token FROM distlock.mark WHERE resource = 'first'"), 8, 'the next raise leaves one row');

# What was answered survives a crash, whatever synchronous_commit says.
ask($node, "SET synchronous_commit = off; SELECT distlock.high_water('crash', 77)");
drop_session($one, $two);
$node->stop('immediate');
$node->start;
is(mark('crash'), 77, 'an answered mark survives a crash');
is(outcome($node, "SELECT distlock.high_water('crash', 76)"), 'LK001', 'and refuses what is older');

# A standby refuses, and has the marks when it is promoted.
my $standby = copy_node('standby', $node, has_streaming => 1);
is(outcome($standby, "SELECT distlock.high_water('crash', 78)"), '25006', 'not on a standby');
ask($node, "SELECT distlock.high_water('crash', 79)");
$node->wait_for_catchup($standby);
$standby->promote;
is(outcome($standby, "SELECT distlock.high_water('crash', 78)"), 'LK001', 'the promoted standby refuses what is older');
is(outcome($standby, "SELECT distlock.high_water('crash', 80)"), '80', 'and goes on');

# A dump takes the marks along.
$standby->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
my $dump = "$PostgreSQL::Test::Utils::tmp_check/marks.sql";
$standby->command_ok([ 'pg_dump', '-d', $standby->connstr . ' dbname=postgres', '-f', $dump ], 'pg_dump');
$standby->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $standby->connstr . ' dbname=restored', '-f', $dump ], 'restored');
is(outcome($standby, "SELECT distlock.high_water('crash', 79)", 'restored'), 'LK001', 'a restored database refuses what is older');
is(outcome($standby, "SELECT distlock.high_water('crash', 80)", 'restored'), '80', 'and accepts the mark');

done_testing();
