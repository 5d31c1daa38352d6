# A grant or renewal is on disk, and on the synchronous standby, before its caller hears of it,
# whatever synchronous_commit says; a release alone waits for nobody.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use Test::More;

my $primary = new_node('primary', allows_streaming => 1, conf => "wal_writer_delay = 10s\n");
my $standby = copy_node('standby', $primary, has_streaming => 1);
$primary->append_conf('postgresql.conf', q(synchronous_standby_names = 'standby'));
$primary->reload;
my $admin = session($primary);
ok(within(60, $admin, "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'"),
	'a synchronous standby');
sub sql { return ask($admin, @_); }

sql(q{
	CREATE TABLE work (note text);
	CREATE ROLE careless SUPERUSER LOGIN;
	ALTER ROLE careless SET synchronous_commit = off;
	CREATE FUNCTION grab(lock text) RETURNS bigint SET synchronous_commit = local
		RETURN distlock.try_acquire(lock);
	CREATE FUNCTION record() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO work VALUES (NEW.note || ' deferred'); RETURN NEW; END $$;
	CREATE UNLOGGED TABLE later_work (note text);
	CREATE CONSTRAINT TRIGGER later AFTER INSERT ON later_work DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION record();
	SET synchronous_commit = off});
my %token;
$token{$_} = sql("SELECT distlock.try_acquire('$_', ttl => '1h')")
  for qw(renewed again released plain before after deferred savepoint batch down raised);
$token{run} = sql("SELECT distlock.begin_run('run', '2026-01-01 00:00+00', '1h')");

my $off = 'SET synchronous_commit = off';
my $release = sub { "SELECT distlock.release('$_[0]', $token{$_[0]})" };
my %must_wait = (
	'a grant' => "$off; SELECT distlock.try_acquire('a')",
	'a grant, role setting' => "SET SESSION AUTHORIZATION careless; $off; SELECT distlock.try_acquire('b')",
	'a grant, SET LOCAL' => "BEGIN; SET LOCAL synchronous_commit = local; SELECT distlock.try_acquire('c'); COMMIT",
	'a grant, SET LOCAL afterwards' =>
	  "BEGIN; SELECT distlock.try_acquire('d'); SET LOCAL synchronous_commit = remote_write; COMMIT",
	'a grant in a savepoint' => "$off; BEGIN; SAVEPOINT s; SELECT distlock.try_acquire('e'); RELEASE s; COMMIT",
	'a grant, function with SET' => "$off; SELECT grab('f')",
	'a renewal' => "$off; SELECT distlock.renew('renewed', $token{renewed}) IS NOT NULL",
	'a retried request' => "$off; SELECT distlock.try_acquire('g', request_id => '00000000-0000-0000-0000-000000000001')",
	'a shared grant' => "$off; SELECT distlock.try_acquire('j', mode => 'shared')",
	'a permit' => "$off; SELECT distlock.try_acquire('k', capacity => 2)",
	'several locks' => "$off; SELECT count(*) FROM distlock.acquire_all(ARRAY['l', 'm'])",
	'a long wait' => "$off; CALL distlock.acquire_long('n')",
	'a batch of renewals' => "$off; SELECT count(expires_at) FROM distlock.renew_many('{batch}', '{$token{batch}}')",
	'a downgrade' => "$off; SELECT distlock.downgrade('down', $token{down}) IS NOT NULL",
	'a raised token' => "$off; SELECT distlock.raise_token('raised', $token{raised}, $token{raised} + 1)",
	'a capacity' => "$off; SELECT distlock.set_capacity('o', 3)",
	'a run' => "$off; SELECT distlock.begin_run('p', '2026-01-01 00:00+00')",
	'the end of a run' => "$off; SELECT distlock.end_run('run', '2026-01-01 00:00+00', $token{run})",
	'a grant and a release' => "$off; BEGIN; SELECT distlock.try_acquire('h'); " . $release->('again') . '; COMMIT',
	'a release after a write' => 'BEGIN; INSERT INTO work VALUES (1); ' . $release->('before') . '; COMMIT',
	'a release before a write' => 'BEGIN; ' . $release->('after') . '; INSERT INTO work VALUES (2); COMMIT',
	'a release before a deferred write' =>
	  'BEGIN; INSERT INTO later_work VALUES (3); ' . $release->('deferred') . '; COMMIT',
	'a release before a write in a savepoint' =>
	  'BEGIN; ' . $release->('savepoint') . '; SAVEPOINT s; INSERT INTO work VALUES (4); RELEASE s; COMMIT');
my %returns = (
	'a release' => $release->('released'),
	'a release, and fenced reads' => "BEGIN; SELECT count(*) FROM work; " . $release->('plain') . '; COMMIT',
	'a grant that need not be durable' => "$off; SELECT distlock.try_acquire('i', durable => false)");

# The standby goes.
my %session = map { $_ => session($primary) } keys %must_wait, keys %returns;
$standby->stop('immediate');
my @pids;
for my $what (sort keys %must_wait)
{
	push @pids, ask($session{$what}, 'SELECT pg_backend_pid()');
	later($session{$what}, $must_wait{$what});
}
my $waiting = 'FROM pg_stat_activity WHERE wait_event = \'SyncRep\'';
ok(within(15, $admin, 'SELECT count(*) = ' . @pids . " $waiting"), 'all wait for the standby')
  or diag(sql("SELECT query FROM pg_stat_activity WHERE pid IN (@{[join ',', @pids]}) AND wait_event IS DISTINCT FROM 'SyncRep'"));
for my $what (sort keys %returns)
{
	my $pid = ask($session{$what}, 'SELECT pg_backend_pid()');
	later($session{$what}, $returns{$what});
	ok(within(15, $admin, "SELECT state = 'idle' FROM pg_stat_activity WHERE pid = $pid"), "$what returns")
	  or diag(sql("SELECT wait_event FROM pg_stat_activity WHERE pid = $pid"));
}

$standby->start;
for my $what (sort keys %must_wait)
{
	unlike(answer($session{$what}), qr/ERROR|WARNING/, "$what: done when the standby is back");
}
answer($session{$_}) for keys %returns;
is(ask($session{'a grant'}, 'SHOW synchronous_commit'), 'off', q(the session's setting is back));
is(ask($session{'a release'}, 'SHOW synchronous_commit'), 'on', 'also after a release');
is(ask($session{'a grant, function with SET'}, 'SHOW synchronous_commit'), 'off', 'also in the function');
$_->quit for values %session;

# A release that a crash undoes costs the rest of its lease, and brings no second holder.
$primary->append_conf('postgresql.conf', q(synchronous_standby_names = ''));
$primary->reload;
my $token = sql("SELECT distlock.try_acquire('crash', ttl => '2s')");
my $session = session($primary);
is(ask($session, "SELECT distlock.release('crash', $token)"), 'released', 'released');
$primary->stop('immediate');
drop_session($session, $admin);
$primary->start;
$admin = session($primary);
my $state = sql("SELECT state FROM distlock.holder('crash')");
note 'after the crash: ' . ($state || 'free');
my $next = sql("SELECT distlock.try_acquire('crash', wait => '5s')");
cmp_ok($next, '>', $token, 'granted again within its lease');
is(sql("SELECT distlock.is_current('crash', $token)"), 'f', 'and the old token is not current');

# A server without synchronous standby can be told not to grant.
sql('SET distlock.require_sync_standby = on');
like(sql(q{SELECT distlock.try_acquire('cut off')}), qr/55000/, 'refuses to grant without a synchronous standby');
like(sql(q{SELECT distlock.acquire('cut off')}), qr/55000/, 'nor waits for it');
is(sql("SELECT distlock.release('crash', $next)"), 'released', 'a release needs none');
$primary->append_conf('postgresql.conf', q(synchronous_standby_names = 'standby'));
$primary->reload;
ok(within(10, $admin, q{SELECT current_setting('synchronous_standby_names') = 'standby'}), 'configured');
like(sql(q{SELECT distlock.try_acquire('cut off')}), qr/^\d+$/, 'grants with one');
sql('SET SESSION AUTHORIZATION careless; CREATE ROLE app; GRANT USAGE ON SCHEMA distlock TO app; SET ROLE app');
like(sql('SET distlock.require_sync_standby = off'), qr/42501/, 'only an administrator may turn that off');
$admin->quit;

done_testing();
