# Tokens rise whatever the server's clock does, and stay below 2^53.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use Test::More;

my $clock = Distlock::Clock->new('main');
my $tokens = Distlock::Tokens->new;
my $node = new_node('main', clock => $clock);
$tokens->next($node, 'a good clock');
my $first = $tokens->{highest};
my $now = $node->safe_psql('postgres',
	"SELECT (extract(epoch FROM clock_timestamp() - '2026-01-01 UTC') * 1e6)::bigint");
cmp_ok(abs($now - $first), '<', 120e6, 'tokens are about the microseconds since 2026-01-01');

sub at
{
	my ($time, $what) = @_;
	$clock->set($time);
	$tokens->next($node, $what) for 1 .. 2;
	return;
}

at('2026-12-24 18:00:00', 'a clock that stands still');
at('-3600', 'back an hour');
cmp_ok($tokens->{highest}, '>', $first, 'higher than an hour ago');
at('+3600', 'an hour ahead');
at('+0', 'and back again');
at('@2001-01-01 00:00:00', 'dead');

# A clock beyond 2^53 microseconds would leave no tokens.
at('@2400-01-01 00:00:00', 'in the year 2400');
cmp_ok($tokens->{highest}, '<', 2**53, 'below 2^53');
$node->stop('immediate');
$clock->set($clock->DEAD);
$clock->start($node);
$tokens->next($node, 'dead after a crash');
$node->restart;
$tokens->next($node, 'dead after a restart');

# The administrator's way forward ends at 2^53 as well, and never goes back.
is(ask($node, "SELECT distlock.advance_token(1) >= $tokens->{highest}"), 't', 'advance_token never goes back');
like(ask($node, 'SELECT distlock.advance_token(9007199254740992)'), qr/22023|2200H/, '2^53 is refused');
$tokens->saw($node->safe_psql('postgres', 'SELECT distlock.advance_token(9007199254740990)'));
$tokens->check($node->safe_psql('postgres', "SELECT distlock.try_acquire('last')"), 'the last token');
like(ask($node, "SELECT distlock.try_acquire('none')"), qr/2200H/, 'then no more');
$node->stop('immediate');
$clock->start($node);
like(ask($node, "SELECT distlock.try_acquire('none')"), qr/2200H/, 'nor after a crash');

done_testing();
