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
is(ask($reader, "SELECT distlock.is_current('seen', $token)"), 't', 'read-only transaction: is_current answers');
for my $session ($there, $reader)
{
	my $where = $session == $there ? 'standby' : 'read-only transaction';
	is(ask($session, 'SELECT name, token, state, owner, pinned_by FROM distlock.locks'), "seen|$token|held|me|",
		"$where: view locks");
	is(ask($session, q{SELECT name, token, state FROM distlock.holder('seen')}), "seen|$token|held", "$where: holder");
	is(ask($session, q{SELECT count(*) FROM distlock.holder('free')}), 0, "$where: holder of a free lock");
	is(ask($session, 'SELECT count(*) FROM distlock.waiters'), 0, "$where: view waiters");
	is(ask($session, 'SELECT table_name, mode FROM distlock.protected_tables'), 'work|live', "$where: view protected_tables");
}
is($primary->safe_psql('postgres', "SELECT distlock.release('seen', $token)"), 'released', 'released on the primary');
ok(within(30, $there, 'SELECT count(*) = 0 FROM distlock.locks'), 'the standby follows');

# Promoted, all of it works.
$primary->stop('immediate');
$standby->promote;
ok(within(60, $there, 'SELECT NOT pg_is_in_recovery()'), 'promoted');
my $next = ask($there, q{SELECT distlock.try_acquire('seen')});
cmp_ok($next, '>', $token, 'grants');
is(ask($there, "SELECT distlock.is_current('seen', $next)"), 't', 'answers');
is(ask($there, "INSERT INTO work VALUES (1, $next); SELECT distlock.release('seen', $next)"), 'released', 'fences and releases');
$_->quit for $there, $reader;

done_testing();
