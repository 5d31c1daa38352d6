# Tokens never go back through dumps, copies of databases, and switchover by logical replication.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use PostgreSQL::Test::Utils;
use Test::More;

my $tokens = Distlock::Tokens->new;
my $main = new_node('main', allows_streaming => 'logical');
my $other = new_node('other', allows_streaming => 'logical');
my $dump = "$PostgreSQL::Test::Utils::tmp_check/old.sql";

sub dump_to
{
	my ($file, @options) = @_;
	$main->command_ok([ 'pg_dump', '-f', $file, @options, $main->connstr('postgres') ], "pg_dump @options");
	return;
}

sub restore
{
	my ($node, $dbname, $file) = @_;
	$node->command_ok([ 'psql', '-X', '-q', '-o', '/dev/null', '-f', $file, $node->connstr($dbname) ],
		"restored into $dbname of " . $node->name);
	return;
}

$tokens->next($main, 'before the dump');
dump_to($dump);
unlike(slurp_file($dump), qr/^COPY distlock\.lease/m, 'leases are not dumped');
$tokens->next($main, 'after the dump') for 1 .. 3;

restore($main, 'postgres', $dump);
$tokens->next($main, 'older dump over the newer database');
dump_to("$dump.data", '--data-only');
$tokens->next($main, 'after the second dump') for 1 .. 3;
restore($main, 'postgres', "$dump.data");
$tokens->next($main, 'older data over the newer database');

$main->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
restore($main, 'restored', $dump);
$tokens->next($main, 'dump restored into a new database of the cluster', 'restored');
$other->safe_psql('postgres', 'DROP EXTENSION distlock');
restore($other, 'postgres', $dump);
$tokens->next($other, 'dump restored into another cluster');
$other->safe_psql('postgres', 'DROP EXTENSION distlock; CREATE EXTENSION distlock');
$tokens->next($other, 'extension dropped and created in the restored database');

# Tokens ahead of the clock go with the dump.
my $ahead = $tokens->{highest} + 86_400_000_000;
$tokens->saw($main->safe_psql('postgres', "SELECT distlock.advance_token($ahead)"));
$tokens->next($main, 'advanced by a day');
dump_to($dump);
$other->safe_psql('postgres', 'DROP EXTENSION distlock');
restore($other, 'postgres', $dump);
$tokens->next($other, 'dump of tokens ahead of the clock');

# Several databases of a cluster hand out tokens of their own.  One that is copied from another
# knows what that one had handed out by then.
for my $strategy (qw(wal_log file_copy))
{
	$tokens = Distlock::Tokens->new;
	$tokens->next($main, 'before the copy');
	$main->safe_psql('template1', "CREATE DATABASE copied TEMPLATE postgres STRATEGY $strategy");
	$tokens->next($main, "copied database, strategy $strategy", 'copied');
	$main->safe_psql('template1', 'DROP DATABASE copied');
}
$main->safe_psql('postgres', 'CREATE DATABASE fresh TEMPLATE template0');
$main->safe_psql('fresh', 'CREATE EXTENSION distlock');
my $fresh = Distlock::Tokens->new;
$fresh->next($main, 'another database of the cluster', 'fresh');
cmp_ok($fresh->{highest}, '<', $tokens->{highest}, 'its tokens are its own');

# Logical replication does not bring the sequence.
$tokens = $fresh;
$main->safe_psql('fresh', 'CREATE TABLE work (id int PRIMARY KEY); CREATE PUBLICATION p FOR ALL TABLES');
$other->safe_psql('postgres', 'CREATE DATABASE fresh TEMPLATE template0');
$other->safe_psql('fresh', 'CREATE EXTENSION distlock; CREATE TABLE work (id int PRIMARY KEY)');
my $from = $main->connstr . ' dbname=fresh';
$other->safe_psql('fresh', "CREATE SUBSCRIPTION s CONNECTION '$from' PUBLICATION p");
$tokens->next($main, 'publisher', 'fresh') for 1 .. 3;
$main->safe_psql('fresh', 'INSERT INTO work VALUES (1)');
ok(within(60, $other, 'SELECT count(*) = 1 FROM work', 'fresh'), 'replicated');
$main->stop('immediate');
$tokens->next($other, 'switchover to the subscriber', 'fresh');

done_testing();
