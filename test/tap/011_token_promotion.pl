# Tokens never go back when a standby takes over that lacks the primary's last WAL.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use Test::More;

my $clock = Distlock::Clock->new('standbys');
my $tokens = Distlock::Tokens->new;
my $primary = new_node('primary', allows_streaming => 1,
	conf => "wal_keep_size = 64MB\nsynchronous_commit = off");
my %standby;
$primary->backup('base');
for my $name (qw(first second last))
{
	$standby{$name} = copy_node($name, $primary, backup => 'base', has_streaming => 1, clock => $clock);
}
$tokens->next($primary, 'on the primary');
$primary->wait_for_catchup($_) for values %standby;

# What the primary hands out from now on no standby hears of.
for my $node (values %standby)
{
	$node->append_conf('postgresql.conf', q(primary_conninfo = ''));
	$node->reload;
	ok(within(60, $node, 'SELECT count(*) = 0 FROM pg_stat_wal_receiver'), $node->name . ' cut off');
}
$tokens->next($primary, 'unheard of by the standbys') for 1 .. 5;
$tokens->check($primary->safe_psql('postgres', q{
		BEGIN; SELECT max(distlock.try_acquire('many ' || i)) FROM generate_series(1, 1000) AS i}),
	'many, never committed');
$primary->stop('immediate');

# One promotion needs no clock.
$clock->set($clock->DEAD);
$standby{first}->promote;
ok(within(60, $standby{first}, 'SELECT NOT pg_is_in_recovery()'), 'promoted');
$tokens->next($standby{first}, 'promoted with a dead clock');
$tokens->next($standby{first}, 'and again');
$standby{first}->stop('immediate');
$clock->start($standby{first});
$tokens->next($standby{first}, 'crash after the promotion, the clock still dead');
$standby{first}->stop;

# The next standby knows as little as the first one did, has even the same timeline for its own
# (no archive tells them apart), and must not repeat what the first one handed out.
$clock->set('+0');
for my $name (qw(second last))
{
	$standby{$name}->promote;
	ok(within(60, $standby{$name}, 'SELECT NOT pg_is_in_recovery()'), 'promoted');
	$tokens->next($standby{$name}, "$name standby promoted after the one before had served");
	$standby{$name}->stop('immediate');
}

# The old primary, put back.
$primary->start;
$tokens->next($primary, 'old primary started again');

done_testing();
