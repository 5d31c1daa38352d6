# More locks in one transaction than the server's lock table holds: an error that names the setting, in time, so
# that nobody else is in trouble.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Room for (10 + 20) * 20 locks or a little more.
my $node = new_node('small', conf => "max_locks_per_transaction = 10\nmax_connections = 20\nmax_prepared_transactions = 0\n");
my $many = 2000;
$node->safe_psql('postgres', q{
	CREATE TABLE item (id int PRIMARY KEY, v int, fence bigint);
	CREATE TABLE counted (id int, v int, fence bigint);});
$node->safe_psql('postgres', "INSERT INTO item SELECT i, 0 FROM generate_series(1, $many) AS i");
# Each in a transaction of its own.
$node->safe_psql('postgres', "SELECT distlock.try_acquire('item:' || i, '1h') AS t FROM generate_series($_, $_ + 19) AS i")
  for map { 20 * $_ + 1 } 0 .. $many / 20 - 1;
$node->safe_psql('postgres', q{
	SELECT distlock.protect('item', 'item:{id}', token_column => 'fence');
	SELECT distlock.protect('counted', 'counted:{id}', 'high_water', 'fence');
	CREATE TABLE token AS SELECT substr(name, 6)::int AS id, token FROM distlock.locks;
	CREATE UNIQUE INDEX ON token (id)});

# A statement that needs too many locks, and what everybody else can do while it and its error last.
sub refused
{
	my ($what, $sql) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $holder = session($node);
	my $answer = ask($holder, "BEGIN; $sql");
	like($answer, qr/ERROR:\s+53200: /, "$what: an error of its own");
	like($answer, qr/max_locks_per_transaction/, "$what: which names max_locks_per_transaction");
	unlike($answer, qr/out of shared memory/, "$what: before the lock table is full");
	is(ask($holder, 'ROLLBACK; SELECT 1'), 1, "$what: the session goes on");
	drop_session($holder);
	is(ours_locked($node), 0, "$what: nothing stays locked");
	return;
}

refused('UPDATE of many rows', 'UPDATE item SET v = 1, fence = token FROM token WHERE token.id = item.id');
refused('fence() of many locks', "SELECT count(distlock.fence('item:' || id, token)) FROM token");
refused('INSERT under many marks', 'INSERT INTO counted SELECT id, 0, 1 FROM item');
refused('high_water() of many', "SELECT count(distlock.high_water('h' || id, 1)) FROM item");
refused('grants of many', "SELECT count(distlock.try_acquire('new' || id)) FROM item");
is(ask($node, 'SELECT sum(v) FROM item'), 0, 'nothing was written');
is(ask($node, 'SELECT count(*) FROM counted'), 0, 'nothing was inserted');

# As many as are allowed, held open: the lock table still has room for others.
my $holder = session($node);
my ($allowed) = ask($holder, "BEGIN; UPDATE item SET v = 1, fence = token FROM token WHERE token.id = item.id") =~ /may use (\d+)/;
ok($allowed, "it says how many it may use");
ask($holder, 'ROLLBACK');
my $fits = $allowed - 10;
is(ask($holder, "BEGIN; UPDATE item SET v = 2, fence = token FROM token WHERE token.id = item.id AND item.id <= $fits; SELECT 1"),
	1, "$fits locks in one transaction are possible");
is(ask($node, "BEGIN; SELECT distlock.try_acquire('other') > 0; COMMIT"), 't', 'meanwhile others can lock');
is(ask($node, 'CREATE TABLE a (id int PRIMARY KEY); DROP TABLE a; SELECT 1'), 1, 'and others can work');
is(ask($holder, 'COMMIT; SELECT sum(v) FROM item'), 2 * $fits, 'and it commits');
# One lock for all rows has no such limit.
ask($node, "SELECT distlock.protect('item', 'items', token_column => 'fence')");
is(ask($node, "WITH t AS MATERIALIZED (SELECT distlock.acquire('items') AS t) UPDATE item SET v = 3, fence = t FROM t; SELECT sum(v) FROM item"),
	3 * $many, 'one lock for the table has no limit');
is(ask($node, 'SELECT count(*) FROM item WHERE fence IS NOT NULL'), 0, 'and no token stays');
unlike(slurp_file($node->logfile), qr/out of shared memory|PANIC|TRAP|terminated by signal/, 'no trouble in the log');
drop_session($holder);
done_testing();
