# protect(always => true) beside real replication: the fence fires under session_replication_role = replica too,
# rows that a subscription applies pass it (their origin has checked them), TRUNCATE and partitions included,
# and distlock's own tables, which a publication FOR ALL TABLES includes, are left alone (B73, B74).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $origin = new_node('origin', allows_streaming => 'logical');
my $copy = new_node('copy', allows_streaming => 'logical');

my $schema = q{
	CREATE TABLE report (id int PRIMARY KEY, body text, fence bigint);
	CREATE TABLE plain (id int PRIMARY KEY, body text, fence bigint);
	CREATE TABLE job (id int, region text, body text, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
	CREATE TABLE job_east PARTITION OF job FOR VALUES IN ('east');
	CREATE TABLE job_west PARTITION OF job FOR VALUES IN ('west');};
my $protect = q{
	SELECT distlock.protect('report', 'report:{id}', token_column => 'fence', always => true);
	SELECT distlock.protect('plain', 'report:{id}', token_column => 'fence');
	SELECT distlock.protect('job', 'jobs', always => true);};

# One line: what a statement answers, or its SQLSTATE.
sub outcome
{
	my ($node, $sql) = @_;
	my $answer = ask($node, $sql);
	return $answer =~ /ERROR:\s+(\w{5}):/ ? $1 : $answer;
}

sub rows
{
	my ($node, $table) = @_;
	return ask($node, "SELECT string_agg(concat_ws('/', id, body), ' ' ORDER BY id) FROM $table");
}

sub caught_up
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$origin->wait_for_catchup('s');
	return is($copy->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_subscription WHERE pid IS NOT NULL'),
		1, "$what: the apply worker is alive");
}

# Rows and leases on both sides, before they are connected.
$_->safe_psql('postgres', $schema . q{
	INSERT INTO report VALUES (1, 'old');} . $protect) for $origin;
$copy->safe_psql('postgres', $schema . $protect);
my $one = $origin->safe_psql('postgres', "SELECT distlock.try_acquire('report:1', '1h')");
my $two = $origin->safe_psql('postgres', "SELECT distlock.try_acquire('report:2', '1h')");
my $jobs = $origin->safe_psql('postgres', "SELECT distlock.try_acquire('jobs', '1h')");
$origin->safe_psql('postgres', "SELECT distlock.high_water('resource', 5)");
my $on_copy = $copy->safe_psql('postgres', "SELECT distlock.try_acquire('report:1', '1h')");
$copy->safe_psql('postgres', "SELECT distlock.high_water('resource', 3)");

$origin->safe_psql('postgres', 'CREATE PUBLICATION p FOR ALL TABLES');
my $connstr = $origin->connstr . ' dbname=postgres';
$copy->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$connstr' PUBLICATION p");
$copy->wait_for_subscription_sync($origin, 's');
is(rows($copy, 'report'), '1/old', 'the first copy of the rows passes the fence');

# Everything that the origin lets through arrives.
is(outcome($origin, "UPDATE report SET body = 'late' WHERE id = 1"), 'LK002', 'origin: no write without a token');
ask($origin, $_) for (
	"UPDATE report SET body = 'new', fence = $one WHERE id = 1",
	"INSERT INTO report VALUES (2, 'second', $two)",
	"INSERT INTO plain VALUES (1, 'plain', $one)",
	"BEGIN; SELECT distlock.fence('jobs', $jobs); INSERT INTO job VALUES (1, 'east', 'a'), (2, 'west', 'b'); COMMIT");
caught_up('INSERT and UPDATE');
is(rows($copy, 'report'), '1/new 2/second', 'copy: rows of a table with an always fence');
is(rows($copy, 'plain'), '1/plain', 'copy: of one without');
is(rows($copy, 'job'), '1/a 2/b', 'copy: of partitions');
ask($origin, $_) for (
	"BEGIN; SELECT distlock.fence('jobs', $jobs); UPDATE job SET region = 'west' WHERE id = 1; COMMIT",
	"BEGIN; SELECT distlock.fence('report:2', $two); DELETE FROM report WHERE id = 2; COMMIT");
caught_up('row movement and DELETE');
is(rows($copy, 'job_west'), '1/a 2/b', 'copy: a row that moved');
is(rows($copy, 'report'), '1/new', 'copy: a row that was deleted');
ask($origin, "BEGIN; SELECT distlock.fence('jobs', $jobs); TRUNCATE job; COMMIT");
caught_up('TRUNCATE');
is(rows($copy, 'job'), '', 'copy: TRUNCATE');

# The copy's own sessions are checked, and by the copy's own leases.
is(outcome($copy, "UPDATE report SET body = 'here' WHERE id = 1"), 'LK002', 'copy: no write without a token');
is(outcome($copy, "UPDATE report SET body = 'here', fence = $one WHERE id = 1"), 'LK001', "copy: nor under the origin's");
is(outcome($copy, "SET session_replication_role = replica; UPDATE report SET body = 'here' WHERE id = 1"),
	'LK002', 'copy: always means under session_replication_role = replica too');
is(outcome($copy, 'SET session_replication_role = replica; TRUNCATE report'), 'LK002', 'copy: TRUNCATE as well');
is(outcome($copy, "SET session_replication_role = replica; INSERT INTO job VALUES (7, 'east')"),
	'LK002', 'copy: and partitions');
is(outcome($copy, "SET session_replication_role = replica; UPDATE plain SET body = 'here'"), '',
	'copy: without always that role switches the fence off');
is(outcome($copy, "UPDATE report SET body = 'here', fence = $on_copy WHERE id = 1"), '', "copy: its own token is good");

# Leases, marks and tokens are each side's own.
is(ask($copy, "SELECT string_agg(name, ' ') FROM distlock.locks"), 'report:1', "copy: the origin's leases did not arrive");
is(outcome($copy, "SELECT distlock.high_water('resource', 4)"), '4', 'copy: nor did its marks');
is(outcome($origin, "SELECT distlock.release('report:1', $one)"), 'released', 'origin: release');
$one = outcome($origin, "SELECT distlock.try_acquire('report:1')");
ask($origin, "UPDATE report SET body = 'after all', fence = $one WHERE id = 1");
caught_up('grants and releases');
is(rows($copy, 'report'), '1/after all', 'copy: follows on');
is(ask($copy, "SELECT distlock.is_current('report:1', $on_copy)"), 't', "copy: its own lease is untouched");
unlike(slurp_file($copy->logfile), qr/LK00[12].*logical replication|background worker "logical replication worker".*exited with exit code 1/,
	'no apply worker was stopped by the fence');

$copy->safe_psql('postgres', 'DROP SUBSCRIPTION s');
done_testing();
