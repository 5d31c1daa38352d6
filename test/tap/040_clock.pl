# A step of the server's wall clock neither ends a lease early nor keeps it; a restart keeps leases;
# rows from another machine's boot count by the wall clock, and a waiting head by watching them.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use Test::More;
use Time::HiRes qw(time);

my $clock = Distlock::Clock->new('main');
my $node = new_node('main', allows_streaming => 1, clock => $clock);
my $admin = session($node);
sub sql { return ask($admin, @_); }

is(sql("SELECT abs(extract(epoch FROM clock_timestamp()) - " . time() . ') < 5'), 't', 'clock as it is');

# Steps while a lease is held: it ends after its 3 s, by the clock of this script.
for my $step ('+3600', '-3600', '+0')
{
	my $start = time();
	my $token = sql("SELECT distlock.try_acquire('stepped', ttl => '3s')");
	$clock->set($step);
	is(sql("SELECT distlock.try_acquire('stepped')"), '', "$step s: not ended early");
	is(sql("SELECT distlock.fence('stepped', $token)"), $token, "$step s: the token is current");
	is(sql("SELECT state, remaining_ms BETWEEN 1 AND 3000 FROM distlock.holder('stepped')"), 'held|t',
		"$step s: so the view says");
	like(sql("SELECT distlock.acquire('stepped', wait => '10s')"), qr/^\d+$/, "$step s: then granted");
	my $took = time() - $start;
	ok($took >= 3 && $took < 4.5, "$step s: after its ttl") or diag("$took s");
	sql("SELECT distlock.release('stepped', token) FROM distlock.holder('stepped')");
}

# Renewals on the other side of a step.
my $token = sql("SELECT distlock.try_acquire('renewed', ttl => '2s', min_hold => '1s')");
$clock->set('+3600');
isnt(sql("SELECT distlock.renew('renewed', $token)"), '', 'renewed after a step ahead');
$clock->set('-3600');
isnt(sql("SELECT distlock.renew('renewed', $token)"), '', 'renewed after a step back');
is(sql("SELECT remaining_ms BETWEEN 1 AND 2000 FROM distlock.holder('renewed')"), 't', 'not longer than its ttl');
$clock->set('+0');
ok(within(10, $admin, "SELECT state = 'expired' FROM distlock.holder('renewed')"), 'and runs out');

# A restart of the server ends no lease.
$token = sql(q{SELECT distlock.try_acquire('kept', ttl => '1h')});
sql(q{SELECT distlock.try_acquire('brief', ttl => '2s')});
$admin->quit;
$node->stop('immediate');
$clock->start($node);
$admin = session($node);
is(sql(q{SELECT distlock.try_acquire('kept')}), '', 'kept over a crash and restart');
isnt(sql("SELECT distlock.renew('kept', $token)"), '', 'and renewable');
is(sql("SELECT distlock.fence('kept', $token)"), $token, 'and fenceable');
like(sql(q{SELECT distlock.acquire('brief', wait => '10s')}), qr/^\d+$/, 'short ones run out');

# On another machine the boot-time clock of the row means nothing.
my $elsewhere = q{UPDATE distlock.lease SET boot_id = gen_random_uuid(),
	renewed_boot = renewed_boot - 1e12, expires_boot = expires_boot - 1e12, acquired_boot = acquired_boot - 1e12};
$node->backup('base');
my $standby = copy_node('standby', $node, backup => 'base', has_streaming => 1);
my $there = session($standby);
ok(within(60, $there, q{SELECT count(*) = 1 FROM distlock.holder('kept')}), 'replicated');
$node->wait_for_catchup('standby');
$standby->promote;
ok(within(60, $there, 'SELECT NOT pg_is_in_recovery()'), 'standby promoted');
is(ask($there, q{SELECT distlock.try_acquire('kept')}), '', 'on the same machine: kept');
ask($there, $elsewhere);
is(ask($there, q{SELECT distlock.try_acquire('kept')}), '', 'on another machine: kept');
isnt(ask($there, "SELECT distlock.renew('kept', $token)"), '', 'renewed there');
is(ask($there, q{SELECT count(*) FROM distlock.lease WHERE name = 'kept' AND boot_id = (SELECT boot_id
	FROM distlock.lease WHERE name = 'brief')}), 0, 'the row belongs to the new machine then');
$there->quit;
$standby->stop;

sub grant_elsewhere
{
	my ($lock, $ttl) = @_;
	my $granted = sql("SELECT distlock.try_acquire('$lock', ttl => '$ttl')");
	sql("$elsewhere WHERE name = '$lock'");
	return $granted;
}

# Then the wall clock decides: too early and too late by as much as the machines' clocks differ ...
grant_elsewhere('skewed', '1h');
is(sql(q{SELECT distlock.try_acquire('skewed')}), '', 'another boot, clocks agree: held');
$clock->set('+3601');
like(sql(q{SELECT distlock.try_acquire('skewed')}), qr/^\d+$/, 'another boot, clock ahead: free');

# ... but who waits and sees no renewal for the lease's length takes it whatever the clocks say.
$token = grant_elsewhere('ahead', '2s');
$clock->set('+0');
is(sql(q{SELECT distlock.try_acquire('ahead')}), '', 'written by a clock an hour ahead: a try is refused');
my $start = time();
like(sql(q{SELECT distlock.acquire('ahead', wait => '20s')}), qr/^\d+$/, 'a waiting head gets it');
my $took = time() - $start;
ok($took >= 2 && $took < 3.5, 'after its ttl') or diag("$took s");
is(sql("SELECT distlock.is_current('ahead', $token)"), 'f', 'and the old token is stale');

# Renewals in between start the watch anew.
$clock->set('+3600');
$token = grant_elsewhere('watched', '2s');
$clock->set('+0');
my $waiter = session($node);
$start = time();
later($waiter, q{SELECT distlock.acquire('watched', wait => '20s')});
ok(within(5, $admin, q{SELECT count(*) = 1 FROM distlock.waiters WHERE name = 'watched'}), 'somebody waits');
ok(within(5, $admin, "SELECT $start + 1 < extract(epoch FROM clock_timestamp())"), 'for a second');
isnt(sql("SELECT distlock.renew('watched', $token, '2s')"), '', 'renewed meanwhile');
like(answer($waiter), qr/^\d+$/m, 'granted');
$took = time() - $start;
ok($took >= 3 && $took < 5, '2 s after the renewal') or diag("$took s");
$waiter->quit;

# A copy of a running machine has its boot id, and a boot-time clock that may lag behind the row's.
grant_elsewhere('cloned', '1h');
sql(q{UPDATE distlock.lease AS l SET renewed_boot = k.renewed_boot + 1e12, expires_boot = k.renewed_boot + 1e12 + 1e6,
		boot_id = k.boot_id FROM distlock.lease AS k WHERE l.name = 'cloned' AND k.name = 'ahead'});
is(sql(q{SELECT distlock.try_acquire('cloned')}), '', 'boot-time clock behind the row: the wall clock decides');
$clock->set('+3601');
like(sql(q{SELECT distlock.try_acquire('cloned')}), qr/^\d+$/, 'and frees it');
$admin->quit;

done_testing();
