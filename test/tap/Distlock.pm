# What the tests that need a server's life share: servers with the extension, sessions that stay
# open, a wall clock that can be stepped, and a record of every token handed out.
package Distlock;
use strict;
use warnings;
use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

our @EXPORT = qw(new_node copy_node session ask later answer drop_session within ours_locked);

# A running server with the extension.  Options: conf => lines for postgresql.conf, clock => a
# Distlock::Clock, the rest goes to init.
sub new_node
{
	my ($name, %o) = @_;
	my ($conf, $clock) = delete @o{qw(conf clock)};
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%o);
	$node->append_conf('postgresql.conf', "autovacuum = off\nmax_connections = 50\n" . ($conf // ''));
	$clock ? $clock->start($node) : $node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION distlock');
	return $node;
}

# A server made from a base backup of another.  Options: those of init_from_backup, conf, clock,
# backup => an older one.
sub copy_node
{
	my ($name, $from, %o) = @_;
	my ($conf, $clock, $backup) = delete @o{qw(conf clock backup)};
	if (!defined $backup)
	{
		$backup = "for_$name";
		$from->backup($backup);
	}
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($from, $backup, %o);
	$node->append_conf('postgresql.conf', $conf) if defined $conf;
	$clock ? $clock->start($node) : $node->start;
	return $node;
}

# A psql that stays connected; errors show their SQLSTATE.
sub session
{
	my ($node, $dbname, @params) = @_;
	return $node->background_psql($dbname // 'postgres',
		on_error_stop => 0, extra_params => [ '-v', 'VERBOSITY=verbose', @params ]);
}

# Runs statements in a session, or in a psql of their own: what they printed, then their errors.
sub ask
{
	my ($where, $sql, $dbname) = @_;
	if ($where->isa('PostgreSQL::Test::Cluster'))
	{
		my ($ret, $out, $errors) = $where->psql($dbname // 'postgres', $sql,
			timeout => 60, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
		return $out . $errors;
	}
	my $out = $where->query($sql);
	my $errors = $where->{stderr};
	$where->{stderr} = '';
	return $out . $errors;
}

# Sends a statement to a session and does not wait for its answer ...
sub later
{
	my ($session, $sql) = @_;
	$session->query_until(qr/sent/, "\\echo sent\n$sql;\n");
	return;
}

# ... which this returns.
sub answer { return ask($_[0], ''); }

# Ends sessions, also when their server is gone or their client is stopped.
sub drop_session
{
	for my $session (@_)
	{
		eval { $session->{run}->signal('CONT'); };
		eval { $session->{run}->kill_kill(grace => 2); };
	}
	return;
}

# Whether a query answers t within so many seconds.
sub within
{
	my ($seconds, $where, $sql, $dbname) = @_;
	my $end = time() + $seconds;
	do
	{
		return 1 if ask($where, $sql, $dbname) eq 't';
		usleep(50_000);
	} while (time() < $end);
	return 0;
}

# How many locks of ours are held or waited for.
sub ours_locked
{
	my ($where) = @_;
	return ask($where,
		"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid BETWEEN 209 AND 211");
}

# Every token that somebody was given, in the order in which it was asked for.
package Distlock::Tokens;
use Test::More;

sub new { return bless { highest => 0, count => 0 }, shift; }

# A token that was handed out outside `next`.
sub saw
{
	my ($self, @tokens) = @_;
	for my $token (@tokens)
	{
		die "not a token: $token" unless $token =~ /^\d+$/;
		$self->{count}++;
		$self->{highest} = $token if $token > $self->{highest};
	}
	return;
}

# What a grant answered must be higher than everything before.
sub check
{
	my ($self, $token, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	if ($token !~ /^\d+$/) { fail("$what: a token"); diag($token); return; }
	cmp_ok($token, '>', $self->{highest}, "$what: higher than all before");
	$self->saw($token);
	return;
}

# A new grant of lock "job", whoever has it, then 50 more tokens.
sub next
{
	my ($self, $node, $what, $dbname) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $answer = Distlock::ask($node, q{
		SELECT FROM distlock.holder('job') AS h, distlock.force_release(h.name, h.token);
		SELECT distlock.try_acquire('job', ttl => '1h');
		SELECT max(token) FROM (SELECT n, distlock.try_acquire(n) AS token
			FROM (SELECT 'other ' || i AS n FROM generate_series(1, 50) AS i) AS names OFFSET 0) AS t
		WHERE distlock.release(n, token) = 'released'}, $dbname);
	my ($token, $last) = $answer =~ /(\d+)\n(\d+)$/;
	$self->check($token // $answer, $what);
	$self->saw($last) if defined $last;
	return;
}

# A wall clock of a server's own, by libfaketime.  The boot-time clock is left alone.
package Distlock::Clock;
use PostgreSQL::Test::Utils;
use Test::More;

use constant DEAD => '@2001-01-01 00:00:00';

sub library { return (glob '/usr/lib/*/faketime/libfaketime.so.1')[0]; }

sub new
{
	my ($class, $name) = @_;
	my $self = bless { file => "$PostgreSQL::Test::Utils::tmp_check/clock_$name" }, $class;
	plan skip_all => 'libfaketime is not installed' unless $self->library;
	$self->set('+0');
	return $self;
}

# '+3600' or '-3600' seconds; '2026-05-01 00:00:00' stands still, with '@' before it runs.
sub set
{
	my ($self, $time) = @_;
	open my $out, '>', "$self->{file}.new" or die $!;
	print $out "$time\n";
	close $out;
	rename "$self->{file}.new", $self->{file} or die $!;
	return;
}

# Starts the server (not its clients) under this clock.
sub start
{
	my ($self, $node) = @_;
	local %ENV = (
		%ENV,
		LD_PRELOAD => $self->library,
		FAKETIME_TIMESTAMP_FILE => $self->{file},
		FAKETIME_NO_CACHE => 1,
		FAKETIME_DONT_RESET => 1,
		FAKETIME_DONT_FAKE_MONOTONIC => 1,
		NO_FAKE_STAT => 1);
	$node->start;
	return;
}

1;
