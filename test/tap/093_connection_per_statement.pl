# Each kind of lock with one connection per statement, and through PgBouncer in transaction mode where the statements of a
# story run in different sessions (B12, B13): no call depends on a session, session_bound aside.  Each kind is in the views
# locks and waiters in words.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = new_node('main', conf => "fsync = off\n");
$node->safe_psql('postgres', q{
	CREATE TABLE work (id int, fence bigint);
	SELECT distlock.protect('work', 'boss', token_column => 'fence')});
my ($way, $host, $port);

# A psql for this one statement, begun and not waited for ...
sub begin
{
	my ($sql) = @_;
	my %call = (out => '', errors => '');
	$call{run} = IPC::Run::start(
		[ 'psql', '-XqAt', '-v', 'VERBOSITY=sqlstate', '-d', "host=$host port=$port dbname=postgres", '-c', $sql ],
		'>', \$call{out}, '2>', \$call{errors}, IPC::Run::timeout(60));
	return \%call;
}

# ... and what it has answered.
sub end
{
	my ($call) = @_;
	$call->{run}->finish;
	my $answer = $call->{out} . $call->{errors};
	chomp $answer;
	return $answer;
}

sub sql { return end(begin(@_)); }

sub says
{
	my ($sql, $want, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(sql("SELECT $sql"), $want, "$way: $what");
}

sub token
{
	my ($sql, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $token = sql($sql =~ /^CALL/ ? $sql : "SELECT $sql");
	like($token, qr/^\d+$/, "$way: $what");
	return $token =~ /^\d+$/ ? $token : 0;
}

# Somebody waits as $shown, until $release lets him have it: his token.
sub handed_over
{
	my ($statement, $shown, $release, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $waiter = begin($statement);
	my $seen = '';
	for (1 .. 200)
	{
		$seen = sql('SELECT name, owner, mode, position FROM distlock.waiters');
		last if $seen ne '';
		usleep(50_000);
	}
	is($seen, $shown, "$way: $what: in view waiters");
	says($release, 'released', "$what: the release by another connection");
	my $token = end($waiter);
	like($token, qr/^\d+$/, "$way: $what: handed over");
	return $token;
}

sub locks
{
	my ($name, $want, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return says("slot, state, mode, capacity, owner FROM distlock.locks WHERE name = '$name' ORDER BY slot", $want, "$what: in view locks");
}

sub story
{
	my ($prefix) = @_;
	my $x = "$prefix exclusive";
	my $t = token("distlock.try_acquire('$x', '1h', owner => 'one')", 'exclusive');
	says("distlock.try_acquire('$x') IS NULL", 't', 'exclusive: busy');
	locks($x, '0|held|exclusive|1|one', 'exclusive');
	says("distlock.renew('$x', $t) IS NOT NULL", 't', 'exclusive: renewed');
	says("distlock.is_current('$x', $t)", 't', 'exclusive: current');
	says("distlock.fence('$x', $t) = $t", 't', 'exclusive: fenced');
	$t = handed_over("SELECT distlock.acquire('$x', '1h', '20s', owner => 'two')", "$x|two|exclusive|1",
		"distlock.release('$x', $t)", 'exclusive');
	my $raised = token("distlock.raise_token('$x', $t, $t + 1000)", 'token raised');
	says("distlock.release('$x', $t)", 'superseded', 'the token before is lost');
	says("distlock.force_release('$x', $raised)", 'released', 'forced');
	says("distlock.try_acquire('$x', wait => '10ms') > $raised", 't', 'exclusive: free again');

	my $s = "$prefix shared";
	my $s1 = token("distlock.try_acquire('$s', '1h', mode => 'shared', owner => 'reader 1')", 'shared');
	my $s2 = token("distlock.acquire('$s', '1h', mode => 'shared', owner => 'reader 2')", 'shared by a second one');
	says("distlock.try_acquire('$s') IS NULL", 't', 'shared: no exclusive one beside them');
	locks($s, "1|held|shared|1|reader 1\n2|held|shared|1|reader 2", 'shared');
	says("distlock.release('$s', $s1)", 'released', 'shared: one released');
	my $w = handed_over("SELECT distlock.acquire('$s', '1h', '20s', owner => 'writer')", "$s|writer|exclusive|1",
		"distlock.release('$s', $s2)", 'exclusive behind shared');
	says("distlock.downgrade('$s', $w) IS NOT NULL", 't', 'downgraded');
	locks($s, '1|held|shared|1|writer', 'downgraded');
	token("distlock.try_acquire('$s', '1h', mode => 'shared')", 'shared beside the downgraded one');
	$w = sql("SELECT distlock.release('$s', $w)");
	is($w, 'released', "$way: shared: released by the token it had before");

	my $p = "$prefix semaphore";
	my $p1 = token("distlock.try_acquire('$p', '1h', capacity => 2, owner => 'permit 1')", 'permit');
	my $p2 = token("distlock.try_acquire('$p', '1h', capacity => 2, owner => 'permit 2')", 'second permit');
	says("distlock.try_acquire('$p', capacity => 2) IS NULL", 't', 'semaphore: full');
	locks($p, "1|held|exclusive|2|permit 1\n2|held|exclusive|2|permit 2", 'semaphore');
	my $p3 = handed_over("SELECT distlock.acquire('$p', '1h', '20s', capacity => 2, owner => 'permit 3')", "$p|permit 3|exclusive|1",
		"distlock.release('$p', $p1)", 'semaphore');
	says("distlock.set_capacity('$p', 3)", 2, 'capacity raised');
	token("distlock.try_acquire('$p', '1h', capacity => 3)", 'third permit');
	says("distlock.set_capacity('$p', 1)", 3, 'capacity lowered');
	says("distlock.release('$p', $p3)", 'released', 'semaphore: released');
	says("distlock.try_acquire('$p') IS NULL", 't', 'semaphore: nobody until below the lowered capacity');
	says("distlock.renew('$p', $p2) IS NOT NULL", 't', 'semaphore: who holds one renews it');

	my @all = map { "$prefix all $_" } 1 .. 3;
	my $names = "ARRAY['" . join("', '", @all) . "']";
	is(sql("SELECT name FROM distlock.acquire_all($names, '1h', owner => 'all')"), join("\n", @all), "$way: acquire_all");
	is(sql("SELECT name, state, owner FROM distlock.locks WHERE name = ANY ($names) ORDER BY name"),
		join("\n", map { "$_|held|all" } @all), "$way: acquire_all: in view locks");
	like(sql("SELECT * FROM distlock.acquire_all(ARRAY['$prefix other', '$all[1]'], wait => '10ms')"), qr/55P03/, "$way: acquire_all: not got");
	my $tokens = sql("SELECT array_agg(token ORDER BY name) FROM distlock.locks WHERE name = ANY ($names)");
	is(sql("SELECT count(expires_at) FROM distlock.renew_many($names, '$tokens', '2h')"), 3, "$way: renew_many");
	my ($first) = $tokens =~ /(\d+)/;
	my $waiting = handed_over(
		"SELECT token FROM distlock.acquire_all(ARRAY['$all[0]', '$prefix other'], '1h', '20s', owner => 'next') WHERE name LIKE '%other'",
		"$all[0]|next|exclusive|1", "distlock.release('$all[0]', $first)", 'acquire_all');
	says("distlock.release('$prefix other', $waiting)", 'released', 'acquire_all: each has its token');

	my $m = "$prefix min_hold";
	$t = token("distlock.try_acquire('$m', '1h', min_hold => '1h', owner => 'short job')", 'min_hold');
	says("distlock.release('$m', $t)", 'released', 'min_hold: released early');
	says("distlock.try_acquire('$m') IS NULL", 't', 'min_hold: kept from others');
	locks($m, '0|min_hold|exclusive|1|short job', 'min_hold');
	my $d = "$prefix lock_delay";
	$t = token("distlock.try_acquire('$d', '10ms', lock_delay => '1h', owner => 'crashed')", 'lock_delay');
	usleep(20_000);
	says("distlock.try_acquire('$d') IS NULL", 't', 'lock_delay: kept from others');
	locks($d, '0|lock_delay|exclusive|1|crashed', 'lock_delay');

	my $l = 'boss';
	my $term = token(qq{CALL distlock.acquire_long('$l', '1h', owner => 'node 1', metadata => '{"address": "here"}')}, 'acquire_long');
	is(sql("CALL distlock.acquire_long('$l', '1h', wait => '10ms')"), '', "$way: acquire_long: not in time");
	says("term, owner, metadata->>'address' FROM distlock.leader('$l')", "$term|node 1|here", 'leader');
	is(sql("CALL distlock.watch('$l')"), $term, "$way: watch tells the term");
	is(sql("INSERT INTO work VALUES (1, $term)"), '', "$way: what the leader writes");
	my $observer = begin("CALL distlock.watch('$l', $term, '20s')");
	my $next = handed_over("CALL distlock.acquire_long('$l', '1h', owner => 'node 2')", "$l|node 2|exclusive|1",
		"distlock.release('$l', $term)", 'election');
	my $seen = end($observer);
	ok($seen eq $next || $seen eq '0', "$way: the observer sees a change");
	is(sql("CALL distlock.watch('$l', $term)"), $next, "$way: and the next leader");
	cmp_ok($next, '>', $term, "$way: a higher term");
	like(sql("INSERT INTO work VALUES (2, $term)"), qr/LK001/, "$way: what the old leader writes is refused");
	says("distlock.renew('$l', $term) IS NULL", 't', 'election: the old term is over');
	says("distlock.release('$l', $next)", 'released', 'election: resigned');
	says("count(*) FROM distlock.leader('$l')", 0, 'election: nobody leads');

	my ($j, $slot) = ("$prefix job", "'2026-01-01 00:00+00'");
	$t = token("distlock.begin_run('$j', $slot, '1h', owner => 'cron 1')", 'run begun');
	says("distlock.begin_run('$j', $slot) IS NULL", 't', 'run: not by another');
	locks($j, '0|held|exclusive|1|cron 1', 'run');
	says("distlock.renew('$j', $t) IS NOT NULL", 't', 'run: renewed');
	says("state, attempt, owner FROM distlock.runs WHERE job = '$j'", 'running|1|cron 1', 'in view runs');
	says("distlock.end_run('$j', $slot, $t, ok => false)", 't', 'run: failed');
	$t = token("distlock.begin_run('$j', $slot, '1h', owner => 'cron 2')", 'run begun again');
	says("distlock.end_run('$j', $slot, $t)", 't', 'run: ended');
	says("distlock.begin_run('$j', $slot) IS NULL", 't', 'run: finished');
	says("state, attempt, owner FROM distlock.runs WHERE job = '$j'", 'finished|2|cron 2', 'finished, in view runs');

	my ($q, $id) = ("$prefix retry", "'00000000-0000-0000-0000-00000000000");
	for my $kind ([ 'exclusive', '' ], [ 'shared', ", mode => 'shared'" ], [ 'permit', ', capacity => 2' ])
	{
		$t = token("distlock.try_acquire('$q $kind->[0]', '1h'$kind->[1], request_id => ${id}1')", "request_id: $kind->[0]");
		says("distlock.try_acquire('$q $kind->[0]', '1h'$kind->[1], request_id => ${id}1') = $t", 't', "request_id: $kind->[0]: the same grant");
		is(sql("CALL distlock.acquire_long('$q $kind->[0]', '1h'$kind->[1], request_id => ${id}1')"), $t, "$way: request_id: also by acquire_long");
		says("count(*) FROM distlock.holder('$q $kind->[0]')", 1, "request_id: $kind->[0]: one grant");
	}
	$t = token("distlock.begin_run('$q job', $slot, '1h', request_id => ${id}1')", 'request_id: run');
	says("distlock.begin_run('$q job', $slot, '1h', request_id => ${id}1') = $t", 't', 'request_id: the same run');

	says("count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid BETWEEN 209 AND 211", 0, 'nothing of ours is left in any session');
	says("count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'", 0, 'nor a transaction');
	return;
}

($way, $host, $port) = ('one connection per statement', $node->host, $node->port);
story('direct');

SKIP:
{
	my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
	skip 'pgbouncer is not installed', 1 unless $pgbouncer;
	my $folder = PostgreSQL::Test::Utils::tempdir_short();
	my $user = (getpwuid $>)[0];
	append_to_file("$folder/users", qq{"$user" ""\n});
	append_to_file("$folder/pgbouncer.ini", join "\n", '[databases]', "* = host=$host port=$port", '[pgbouncer]',
		'listen_addr =', "unix_socket_dir = $folder", "listen_port = $port", 'auth_type = trust', "auth_file = $folder/users",
		'pool_mode = transaction', 'default_pool_size = 4', 'server_round_robin = 1', '');
	my $log = '';
	my $pooler = IPC::Run::start([ $pgbouncer, "$folder/pgbouncer.ini" ], '>', \$log, '2>', \$log);
	($way, $host) = ('PgBouncer', $folder);
	my $answers = 0;
	for (1 .. 200) { last if $answers = sql('SELECT 1') eq '1'; usleep(50_000); }
	ok($answers, 'PgBouncer answers') or diag($log);
	# Four sessions, taken in turn.
	end($_) for map { begin('SELECT pg_sleep(1)') } 1 .. 4;
	my %pids = map { sql('SELECT pg_backend_pid()') => 1 } 1 .. 8;
	cmp_ok(scalar(keys %pids), '>', 1, 'PgBouncer: statement after statement in another session');
	story('pooled') if $answers;
	$pooler->signal('TERM');
	$pooler->finish;
}
done_testing();
