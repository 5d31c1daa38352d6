# A database owner without superuser installs the extension, grants it, dumps the database and
# restores it; what was granted and protected comes back, live leases do not.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main');
my $folder = $PostgreSQL::Test::Utils::tmp_check;
$node->safe_psql('postgres', "CREATE ROLE $_ LOGIN") for qw(dba other_dba app ops stranger);

sub create_database
{
	my ($name, $owner) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE template0 OWNER $owner");
	return;
}

# What a role is answered: values, or an error's SQLSTATE.
sub as_role
{
	my ($role, $dbname, $sql) = @_;
	my ($ret, $out, $errors) = $node->psql($dbname, $sql,
		extra_params => [ '-U', $role, '-v', 'VERBOSITY=sqlstate' ]);
	return $errors =~ /ERROR:\s+(\w+)/ ? $1 : $out;
}

sub run_as
{
	my ($role, @command) = @_;
	return $node->command_ok([ @command, '-U', $role ], "$role: @command[0 .. 2]");
}

create_database('shop', 'dba');
is(as_role('app', 'shop', 'CREATE EXTENSION distlock'), '42501', 'not everybody can install');
is(as_role('dba', 'shop', 'CREATE EXTENSION distlock'), '', 'the database owner can');
is(as_role('app', 'shop', "SELECT distlock.try_acquire('a')"), '42501', 'nothing without a grant');
is( as_role('dba', 'shop', q{
	GRANT USAGE ON SCHEMA distlock TO app, ops;
	GRANT EXECUTE ON FUNCTION distlock.force_release TO ops;
	CREATE SCHEMA shop; GRANT ALL ON SCHEMA shop TO app}), '', 'the owner grants');
# Whoever restores gives the tables back to their owner, who needs the right to create there first.
$node->safe_psql('shop', 'ALTER SCHEMA shop OWNER TO app');
$node->safe_psql('postgres', 'ALTER ROLE app SET search_path = shop');
my $token = as_role('app', 'shop', "SELECT distlock.try_acquire('report:1', '1 h')");
like($token, qr/^\d+$/, 'the application acquires');
is( as_role('app', 'shop', qq{
	CREATE TABLE report (id int PRIMARY KEY, body text, fence bigint);
	CREATE TABLE job (id int, region text) PARTITION BY LIST (region);
	CREATE TABLE job_east PARTITION OF job FOR VALUES IN ('east');
	INSERT INTO report VALUES (1, 'old'), (2, 'old');
	SELECT distlock.protect('report', 'report:{id}', token_column => 'fence');
	SELECT distlock.protect('job', 'jobs', 'live_strict');
	UPDATE report SET body = 'new', fence = $token WHERE id = 1}), "created\ncreated", 'and protects its tables');
is(as_role('app', 'shop', "UPDATE report SET body = 'late'"), 'LK002', 'no write without a token');
is(as_role('ops', 'shop', "SELECT distlock.force_release('report:1', 1)"), 'superseded', 'operations may break a lock');
is(as_role('stranger', 'shop', "SELECT distlock.try_acquire('b')"), '42501', 'a stranger may nothing');

# Tokens ahead of the clock show that the sequence travels.
my $dumped = as_role('dba', 'shop', 'SELECT distlock.advance_token(' . ($token + 86_400_000_000) . ')');

sub check_restored
{
	my ($dbname, $owner) = @_;
	is(as_role($owner, $dbname, 'SELECT count(*) FROM distlock.locks'), '0', "$dbname: no live leases");
	my $new = as_role('app', $dbname, "SELECT distlock.try_acquire('report:1')");
	cmp_ok($new, '>', $dumped, "$dbname: the application acquires, under a token above the dumped ones");
	is(as_role('app', $dbname, 'SELECT string_agg(id || body, \',\' ORDER BY id) FROM report'), '1new,2old', "$dbname: its rows");
	is(as_role('app', $dbname, "UPDATE report SET fence = $token WHERE id = 1"), 'LK001', "$dbname: the old token is stale");
	is(as_role('app', $dbname, "UPDATE report SET body = 'late'"), 'LK002', "$dbname: the fence is there");
	is(as_role('app', $dbname, 'TRUNCATE job_east'), 'LK002', "$dbname: so is that of TRUNCATE");
	is( as_role('app', $dbname, 'SELECT count(*), count(*) FILTER (WHERE problems <> \'{}\') FROM distlock.protected_tables'),
		'3|0', "$dbname: nothing wrong with it");
	is( as_role('ops', $dbname, "SELECT distlock.force_release('report:1', $new)"),
		'released', "$dbname: operations may break a lock");
	is(as_role('ops', $dbname, "SELECT distlock.prune('0')"), '42501', "$dbname: and nothing else");
	is(as_role('stranger', $dbname, "SELECT distlock.try_acquire('b')"), '42501', "$dbname: a stranger may nothing");
	is(as_role($owner, $dbname, "SELECT distlock.prune('0') >= 0"), 't', "$dbname: the owner administers");
	return;
}

# The owner dumps the whole database, as text and as an archive, and restores it: a member of the
# application's role, since it reads its tables and gives them back to it.
$node->safe_psql('postgres', 'GRANT app TO dba');
my $connection = $node->connstr('shop');
run_as('dba', 'pg_dump', '-d', $connection, '-f', "$folder/shop.sql");
unlike(slurp_file("$folder/shop.sql"), qr/^COPY distlock\.lease/m, 'leases are not dumped');
create_database('text', 'dba');
run_as('dba', 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-f', "$folder/shop.sql", '-d', $node->connstr('text'));
check_restored('text', 'dba');

run_as('dba', 'pg_dump', '-d', $connection, '-Fc', '-f', "$folder/shop.dump");
create_database('archive', 'dba');
run_as('dba', 'pg_restore', '-j', '2', '-e', '-d', $node->connstr('archive'), "$folder/shop.dump");
check_restored('archive', 'dba');

# Restored over the newer database, as `--clean` does.
run_as('dba', 'pg_restore', '--clean', '--if-exists', '-e', '-d', $node->connstr('archive'), "$folder/shop.dump");
check_restored('archive', 'dba');

# Another owner, who is no member of anything, leaves owners and grants out and makes his own.
create_database('handed', 'other_dba');
run_as('other_dba', 'pg_restore', '--no-owner', '--no-privileges', '-e', '-d', $node->connstr('handed'), "$folder/shop.dump");
is(as_role('other_dba', 'handed', "UPDATE shop.report SET body = 'late'"), 'LK002', 'handed: the fence is there');
is(as_role('other_dba', 'handed', 'GRANT USAGE ON SCHEMA distlock TO app'), '', 'handed: the new owner grants');
cmp_ok(as_role('app', 'handed', "SELECT distlock.try_acquire('report:1')"), '>', $dumped, 'handed: the application acquires');
is(as_role('other_dba', 'handed', "SELECT distlock.prune('0') >= 0"), 't', 'handed: the new owner administers');

# The planted schema stops a restore too, instead of being adopted.
create_database('planted', 'dba');
$node->safe_psql('postgres', 'GRANT CREATE ON DATABASE planted TO stranger');
is(as_role('stranger', 'planted', 'CREATE SCHEMA distlock'), '', 'a stranger plants a schema');
is(as_role('dba', 'planted', 'CREATE EXTENSION distlock'), '42P06', 'the owner cannot install into it');
$node->command_fails([ 'pg_restore', '-e', '-U', 'dba', '-d', $node->connstr('planted'), "$folder/shop.dump" ],
	'nor restore');

done_testing();
