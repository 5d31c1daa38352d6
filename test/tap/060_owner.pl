# The owner of a database, no superuser, installs distlock, uses it, grants it, dumps and restores
# the database, and drops it again.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(auth_extra => [ '--create-role', 'boss', '--create-role', 'app' ]);
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', q{
	CREATE ROLE boss LOGIN CREATEDB; CREATE ROLE app LOGIN; CREATE ROLE guest LOGIN;
	CREATE DATABASE shop OWNER boss TEMPLATE template0});
my $dir = $PostgreSQL::Test::Utils::tmp_check;

sub as
{
	my ($role, $dbname) = @_;
	return $node->connstr . " dbname=$dbname user=$role";
}

sub sql_as
{
	my ($role, $dbname, $sql) = @_;
	my ($ret, $out, $errors) = $node->psql($dbname, $sql, connstr => as($role, $dbname),
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return $out . $errors;
}

is(sql_as('boss', 'shop', q{
	CREATE EXTENSION distlock;
	GRANT USAGE ON SCHEMA distlock TO app;
	GRANT EXECUTE ON FUNCTION distlock.force_release TO app;
	CREATE TABLE orders (id int PRIMARY KEY, note text, fence bigint);
	GRANT ALL ON orders TO app}), '', 'installed and granted');
is(sql_as('boss', 'shop', q{SELECT distlock.protect('orders', 'order:{id}', token_column => 'fence')}), 'created', 'protected');
my $used = q{
	SELECT distlock.try_acquire('order:%d', owner => 'teller') AS token \gset
	INSERT INTO orders VALUES (%1$d, 'first', :token);
	SELECT distlock.renew('order:%1$d', :token) IS NOT NULL;
	SELECT owner FROM distlock.locks WHERE name = 'order:%1$d';
	SELECT distlock.release('order:%1$d', :token)};
for my $role (qw(boss app))
{
	is(sql_as($role, 'shop', sprintf($used, $role eq 'boss')), "t\nteller\nreleased", "used by $role");
}
like(sql_as('guest', 'shop', q{SELECT distlock.try_acquire('x')}), qr/42501/, 'not by others');
for my $sql (q{SELECT * FROM distlock.lease}, q{DELETE FROM distlock.lease}, q{SELECT nextval('distlock.token_seq')},
	q{SELECT setval('distlock.token_seq', 1)}, q{SELECT distlock.advance_token(1)}, q{SELECT distlock.prune('1h')})
{
	like(sql_as('app', 'shop', $sql), qr/42501/, "not for applications: $sql");
}
my $held = sql_as('app', 'shop', q{SELECT distlock.try_acquire('held', ttl => '1h')});
is(sql_as('boss', 'shop', "SELECT distlock.force_release('held', $held)"), 'released', 'administered by its owner');
$held = sql_as('boss', 'shop', q{SELECT distlock.try_acquire('held', ttl => '1h')});

# Dumps by the owner, of everything, and each way back.
$node->command_ok([ 'pg_dump', '-f', "$dir/plain.sql", as('boss', 'shop') ], 'dumped');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/custom", as('boss', 'shop') ], 'dumped, custom format');
$node->command_ok([ 'pg_dump', '-Fd', '-j', '2', '-f', "$dir/directory", as('boss', 'shop') ], 'dumped in parallel');
$node->command_ok([ 'pg_dump', '--data-only', '-f', "$dir/data.sql", as('boss', 'shop') ], 'dumped, data only');
my %restore = (
	plain => [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-f', "$dir/plain.sql", '-d' ],
	custom => [ 'pg_restore', '--exit-on-error', '--single-transaction', "$dir/custom", '-d' ],
	parallel => [ 'pg_restore', '--exit-on-error', '-j', '3', "$dir/custom", '-d' ],
	directory => [ 'pg_restore', '--exit-on-error', '-j', '3', "$dir/directory", '-d' ]);
for my $how (sort keys %restore)
{
	is(sql_as('boss', 'postgres', "CREATE DATABASE $how TEMPLATE template0"), '', "$how: new database");
	$node->command_ok([ @{ $restore{$how} }, as('boss', $how) ], "$how: restored by its owner");
	cmp_ok(sql_as('app', $how, q{SELECT distlock.try_acquire('held')}), '>', $held,
		"$how: leases are not restored, tokens go on");
	is(sql_as('app', $how, 'SELECT count(*) FROM orders'), 2, "$how: the protected table is");
	is(sql_as('app', $how, sprintf($used, 3)), "t\nteller\nreleased", "$how: usable by who was granted it");
	like(sql_as('app', $how, q{INSERT INTO orders VALUES (4)}), qr/LK002/, "$how: the fence stands");
	is(sql_as('app', $how, q{SELECT distlock.force_release('none', 1)}), 'not_held', "$how: grants are restored");
	is(sql_as('boss', $how, 'SELECT distlock.advance_token(1) > 0'), 't', "$how: administered by its owner");
}

# The data alone, into the database that is there: protected tables refuse it unless triggers are off.
is(sql_as('boss', 'plain', 'ALTER TABLE orders DISABLE TRIGGER USER; TRUNCATE orders'), '', 'made empty');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-f', "$dir/data.sql",
		as('boss', 'plain') ], 'data only: restored by its owner');
is(sql_as('boss', 'plain', 'ALTER TABLE orders ENABLE TRIGGER USER; SELECT count(*) FROM orders'), 2, 'data only: it is there');

# pg_restore over what is there.
$node->command_ok([ 'pg_restore', '--exit-on-error', '--clean', '--if-exists', "$dir/custom", '-d', as('boss', 'custom') ],
	'restored over what is there');
is(sql_as('app', 'custom', sprintf($used, 5)), "t\nteller\nreleased", 'and usable');

# And out.
like(sql_as('app', 'shop', 'DROP EXTENSION distlock CASCADE'), qr/42501/, 'not dropped by others');
like(sql_as('boss', 'shop', 'DROP EXTENSION distlock'), qr/2BP01/, 'not while a table is protected');
is(sql_as('boss', 'shop', q{SELECT distlock.unprotect('orders'); DROP EXTENSION distlock; CREATE EXTENSION distlock;
	DROP EXTENSION distlock; SELECT count(*) FROM pg_namespace WHERE nspname = 'distlock'}), "t\n0",
	'dropped, created, dropped');

# Somebody who planted the schema stops the installation; he does not get to own it.
is(sql_as('boss', 'shop', 'GRANT CREATE ON DATABASE shop TO app'), '', 'app may create schemas');
is(sql_as('app', 'shop', 'CREATE SCHEMA distlock'), '', 'app creates ours');
like(sql_as('boss', 'shop', 'CREATE EXTENSION distlock'), qr/42P06/, 'then the installation fails');

done_testing();
