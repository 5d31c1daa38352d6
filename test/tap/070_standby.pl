# On a standby and in a read-only transaction whatever writes or promises is refused; looking works.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use Test::More;

my $primary = new_node('primary', allows_streaming => 1);
$primary->safe_psql('postgres', q{
	CREATE TABLE work (id int, fence bigint);
	SELECT distlock.protect('work', 'seen', token_column => 'fence')});
my $token = $primary->safe_psql('postgres', q{SELECT distlock.try_acquire('seen', ttl => '1h', owner => 'me')});
my $bound = session($primary);
my $term = ask($bound, q{SELECT distlock.try_acquire('boss', ttl => '1h', owner => 'node 1', metadata => '{"address": "here"}', session_bound => true)});
my $share = $primary->safe_psql('postgres', q{SELECT distlock.try_acquire('shared', ttl => '1h', mode => 'shared')});
my $permit = $primary->safe_psql('postgres', q{SELECT distlock.try_acquire('permits', ttl => '1h', capacity => 3)});
my $run = $primary->safe_psql('postgres', q{SELECT distlock.begin_run('job', '2026-01-01 00:00+00', '1h')});
my $standby = copy_node('standby', $primary, has_streaming => 1);

my $there = session($standby);
my $reader = session($primary);
ask($reader, 'SET default_transaction_read_only = on');
my %refused = (
	try_acquire => q{distlock.try_acquire('free')},
	'try_acquire of a held lock' => q{distlock.try_acquire('seen')},
	acquire => q{distlock.acquire('free')},
	'acquire with a wait' => q{distlock.acquire('seen', wait => '10s')},
	renew => "distlock.renew('seen', $token)",
	release => "distlock.release('seen', $token)",
	acquire_all => q{* FROM distlock.acquire_all('{free,other}')},
	'acquire_all with a wait' => q{* FROM distlock.acquire_all('{seen,other}', wait => '10s')},
	'a shared one' => q{distlock.try_acquire('shared', mode => 'shared')},
	'a permit' => q{distlock.try_acquire('permits', capacity => 3)},
	'a session-bound one' => q{distlock.try_acquire('free', session_bound => true)},
	renew_many => "* FROM distlock.renew_many('{seen,shared}', '{$token,$share}')",
	downgrade => "distlock.downgrade('seen', $token)",
	raise_token => "distlock.raise_token('seen', $token, $token + 1)",
	set_capacity => q{distlock.set_capacity('permits', 2)},
	begin_run => q{distlock.begin_run('job', '2026-01-01 01:00+00')},
	end_run => "distlock.end_run('job', '2026-01-01 00:00+00', $run)",
	grant_prefix => q{distlock.grant_prefix('x/', 'postgres')},
	revoke_prefix => q{distlock.revoke_prefix('x/', 'postgres')},
	high_water => q{distlock.high_water('etcd', 7)},
	force_release => "distlock.force_release('seen', $token)",
	advance_token => 'distlock.advance_token(1)',
	prune => q{distlock.prune('1h')},
	fence => "distlock.fence('seen', $token)",
	is_current => "distlock.is_current('seen', $token)");
for my $what (sort keys %refused)
{
	like(ask($there, "SELECT $refused{$what}"), qr/25006/, "standby: $what is refused");
	next if $what =~ /fence|is_current/;
	like(ask($reader, "SELECT $refused{$what}"), qr/25006/, "read-only transaction: $what is refused");
}
for my $session ($there, $reader)
{
	my $where = $session == $there ? 'standby' : 'read-only transaction';
	like(ask($session, "CALL distlock.acquire_long('free')"), qr/25006/, "$where: acquire_long is refused");
	like(ask($session, "CALL distlock.acquire_long('seen', wait => '10s')"), qr/25006/, "$where: acquire_long with a wait is refused");
}
# Nobody would wake a watcher on a standby.
like(ask($there, "CALL distlock.watch('boss', $term, '10s')"), qr/25006/, 'standby: watch is refused');
like(ask($there, "CALL distlock.watch('boss')"), qr/25006/, 'standby: watch of a change that has been is refused, too');
is(ask($reader, "CALL distlock.watch('boss')"), $term, 'read-only transaction: watch answers');
is(ask($reader, "SELECT distlock.is_current('seen', $token)"), 't', 'read-only transaction: is_current answers');
for my $session ($there, $reader)
{
	my $where = $session == $there ? 'standby' : 'read-only transaction';
	is(ask($session, 'SELECT name, token, state, mode, capacity, owner FROM distlock.locks ORDER BY name COLLATE "C"'),
		"boss|$term|held|exclusive|1|node 1\njob|$run|held|exclusive|1|\npermits|$permit|held|exclusive|3|\n"
		  . "seen|$token|held|exclusive|1|me\nshared|$share|held|shared|1|", "$where: view locks");
	is(ask($session, q{SELECT term, owner, metadata->>'address', since < expires_at FROM distlock.leader('boss')}),
		"$term|node 1|here|t", "$where: leader");
	is(ask($session, q{SELECT count(*) FROM distlock.leader('free')}), 0, "$where: nobody leads");
	is(ask($session, 'SELECT job, state, attempt, token FROM distlock.runs'), "job|running|1|$run", "$where: view runs");
	is(ask($session, q{SELECT name, token, state FROM distlock.holder('seen')}), "seen|$token|held", "$where: holder");
	is(ask($session, q{SELECT count(*) FROM distlock.holder('free')}), 0, "$where: holder of a free lock");
	is(ask($session, 'SELECT count(*) FROM distlock.waiters'), 0, "$where: view waiters");
	is(ask($session, 'SELECT table_name, mode FROM distlock.protected_tables'), 'work|live', "$where: view protected_tables");
}
is($primary->safe_psql('postgres', "SELECT distlock.release('seen', $token)"), 'released', 'released on the primary');
ok(within(30, $there, q{SELECT count(*) = 0 FROM distlock.holder('seen')}), 'the standby follows');
my $other = $primary->safe_psql('postgres', qq{SELECT distlock.release('boss', $term) = 'released', distlock.try_acquire('boss', '1h', owner => 'node 2')});
ok(within(30, $there, q{SELECT count(*) = 1 FROM distlock.leader('boss') WHERE owner = 'node 2'}), 'and sees the next leader');

# Promoted, all of it works.
$primary->stop('immediate');
$standby->promote;
ok(within(60, $there, 'SELECT NOT pg_is_in_recovery()'), 'promoted');
my $next = ask($there, q{SELECT distlock.try_acquire('seen')});
cmp_ok($next, '>', $token, 'grants');
is(ask($there, "SELECT distlock.is_current('seen', $next)"), 't', 'answers');
# What was held is held here, too, and a new leader has a higher term.
is(ask($there, q{SELECT distlock.try_acquire('shared') IS NULL, distlock.try_acquire('job') IS NULL}), 't|t', 'leases stand');
like(ask($there, "SELECT distlock.renew('permits', $permit) IS NOT NULL"), qr/^t$/, 'permits can be renewed');
is(ask($there, "SELECT distlock.end_run('job', '2026-01-01 00:00+00', $run)"), 't', 'runs can be ended');
my ($second) = $other =~ /(\d+)/;
is(ask($there, "SELECT distlock.release('boss', $second)"), 'released', 'the leader can resign');
cmp_ok(ask($there, "SELECT distlock.try_acquire('boss')"), '>', $second, 'the next term is higher');
is(ask($there, "INSERT INTO work VALUES (1, $next); SELECT distlock.release('seen', $next)"), 'released', 'fences and releases');
$_->quit for $there, $reader;
drop_session($bound);

done_testing();
