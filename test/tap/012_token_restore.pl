# Tokens never go back when the database does: the clock covers what a restore has forgotten.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use Test::More;

my $tokens = Distlock::Tokens->new;
my $main = new_node('main', allows_streaming => 1, has_archiving => 1);
$tokens->next($main, 'before the backup');
$main->backup('base');
$tokens->next($main, 'after the backup');
$main->safe_psql('postgres', "SELECT pg_create_restore_point('here')");
$tokens->next($main, 'after the restore point');
$main->safe_psql('postgres', 'SELECT pg_switch_wal()');
$tokens->next($main, 'in the newest WAL');

my $served = 0;

# Starts a node made from the backup, which is the database from now on, until the next one.
sub serves
{
	my ($what, %o) = @_;
	my $node = copy_node('copy' . ++$served, $main, backup => 'base', %o);
	ok(within(60, $node, 'SELECT NOT pg_is_in_recovery()'), "$what: up");
	$tokens->next($node, $what);
	$tokens->next($node, "$what, again");
	$node->stop('immediate');
	return;
}

my $target = "recovery_target_name = 'here'\nrecovery_target_action = 'promote'\n";
serves('restored to a point in time', has_restoring => 1, standby => 0,
	conf => "${target}archive_mode = off");
serves('restored a second time, without archive of its own', has_restoring => 1, standby => 0,
	conf => "${target}archive_mode = off");
serves('restored a third time, archiving to the same place', has_restoring => 1, standby => 0,
	conf => $target);
serves('restored to the end of the archive', has_restoring => 1, standby => 0);
serves('backup alone, no archive', conf => 'archive_mode = off');
serves('backup alone, once more', conf => 'archive_mode = off');

# A copy of the files of a stopped server, put back later.
$main->stop;
$main->backup_fs_cold('files');
$main->start;
$tokens->next($main, 'after the copy of the files');
$main->stop('immediate');
my $old = copy_node('files', $main, backup => 'files');
$tokens->next($old, 'copy of the files put back');

done_testing();
