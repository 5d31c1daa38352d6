# NOTIFY: one payload for each event.  Dump and restore: prefix grants and the last slot of each job come along, leases and runs do not.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main');
my $s = session($node);
my $listener = session($node);

ask($listener, 'LISTEN distlock');
# The events since the last call, in order.
sub events
{
	my $text = ask($listener, 'SELECT 1');
	$text .= ask($listener, 'SELECT 1');
	return join ' ', map { /"event": "(\w+)", "name": "([^"]*)", "token": (\d+), "slot": (\d+), "owner": (null|"[^"]*")/ ? "$1 $2 $4 $5;" : "? $_" }
	  $text =~ /payload "(.*)" received/g;
}

ask($s, "SELECT distlock.release('off', distlock.try_acquire('off'))");
is(events(), '', 'off by default');
ask($s, 'SET distlock.notify = on');
ask($s, "SELECT distlock.try_acquire('a', owner => 'me')");
is(events(), 'granted a 0 "me";', 'granted');
ask($s, "SELECT distlock.renew('a', token) FROM distlock.holder('a')");
is(events(), '', 'a renewal is no event');
ask($s, "SELECT distlock.try_acquire('a')");
is(events(), '', 'a failed try is none');
ask($s, "SELECT distlock.release('a', token) FROM distlock.holder('a')");
is(events(), 'released a 0 "me";', 'released');
ask($s, "BEGIN; SELECT distlock.try_acquire('a'); ROLLBACK");
ask($s, "BEGIN; SAVEPOINT s; SELECT distlock.try_acquire('a'); ROLLBACK TO s; COMMIT");
is(events(), '', 'what is rolled back is none');
ask($s, "SELECT distlock.try_acquire('a', '20ms')");
ask($s, "SELECT pg_sleep(0.03)");
events();
ask($s, "SELECT distlock.try_acquire('a', owner => 'next')");
is(events(), 'expired a 0 null; granted a 0 "next";', 'an expiry is told when it is noticed');
ask($s, "SELECT distlock.force_release('a', token) FROM distlock.holder('a')");
is(events(), 'forced a 0 "next";', 'forced');
ask($s, "SELECT distlock.try_acquire('sh', '20ms', mode => 'shared') FROM generate_series(1, 2)");
is(events(), 'granted sh 1 null; granted sh 2 null;', 'shared ones');
ask($s, "SELECT pg_sleep(0.03)");
ask($s, "SELECT distlock.try_acquire('sh')");
is(join(' ', sort split / (?=expired|granted)/, events()), 'expired sh 1 null; expired sh 2 null; granted sh 0 null;',
	'expired shared ones are told, too');
ask($s, "SELECT count(*) FROM distlock.acquire_all(ARRAY['p', 'q'])");
is(events(), 'granted p 0 null; granted q 0 null;', 'one for each of several');
like(ask($s, "SELECT * FROM distlock.acquire_all(ARRAY['o', 'p'], wait => '0')"), qr/55P03/, 'not all');
is(events(), '', 'and none for none');
ask($s, "SELECT distlock.begin_run('job', '2026-01-01 00:00+00')");
ask($s, "SELECT distlock.end_run('job', '2026-01-01 00:00+00', token) FROM distlock.holder('job')");
is(events(), 'granted job 0 null; released job 0 null;', 'a run');

# Writing under a lock tells nobody anything (B59): neither a fence nor the trigger.
ask($s, q{CREATE TABLE work (id int, fence bigint); SELECT distlock.protect('work', 'w', token_column => 'fence')});
ask($s, q{SELECT distlock.try_acquire('w', '1h', mode => 'shared')});
is(events(), 'granted w 1 null;', 'the grant is told');
ask($s, q{BEGIN; SELECT distlock.fence('w', token) FROM distlock.holder('w'); INSERT INTO work SELECT 1, token FROM distlock.holder('w');
	UPDATE work SET id = 2; COMMIT});
is(ask($s, 'SELECT id FROM work') . events(), 2, 'the write is not');
ask($s, q{SELECT distlock.renew_many(ARRAY['w'], ARRAY[token]) FROM distlock.holder('w')});
is(events(), '', 'nor a batch of renewals');
ask($s, q{SELECT distlock.release('w', token) FROM distlock.holder('w')});
is(events(), 'released w 1 null;', 'the release of a shared one');
ask($s, q{SELECT distlock.try_acquire('sem', capacity => 2, owner => 'p' || i) FROM generate_series(1, 2) AS i});
ask($s, q{SELECT distlock.release('sem', token) FROM distlock.holder('sem') WHERE slot = 2});
is(events(), 'granted sem 1 "p1"; granted sem 2 "p2"; released sem 2 "p2";', 'permits with their slots');
ask($s, q{CALL distlock.acquire_long('long', owner => 'patient')});
is(events(), 'granted long 0 "patient";', 'acquire_long');
ask($s, q{DROP TABLE work});
# Any name and label make a payload that is JSON.
my $odd = q(E'a "\\\\" \n\t\x01');
ask($s, "SELECT distlock.try_acquire($odd, owner => $odd)");
my ($payload) = (ask($listener, 'SELECT 1') . ask($listener, 'SELECT 1')) =~ /payload "(.*)" received/;
is(ask($s, "SELECT p->>'name' = $odd AND p->>'owner' = $odd FROM (SELECT \$p\$$payload\$p\$::json) AS e(p)"), 't', 'an odd name');

# Dump and restore.
ask($s, q{CREATE ROLE "Job Role"; SELECT distlock.grant_prefix('kept/', '"Job Role"'); SELECT distlock.grant_prefix('', 'postgres')});
ask($s, "SELECT distlock.try_acquire('living', '1h')");
my $dump = "$PostgreSQL::Test::Utils::tmp_check/dump.sql";
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'dumped');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ], 'restored');
is(ask($node, 'SELECT prefix, role FROM distlock.prefix_grant ORDER BY prefix', 'restored'), qq{|postgres\nkept/|"Job Role"}, 'prefix grants');
is(ask($node, "SELECT distlock.begin_run('job', '2026-01-01 00:00+00') IS NULL", 'restored'), 't', 'a finished slot is finished there, too');
like(ask($node, "SELECT distlock.begin_run('job', '2025-12-31 00:00+00')", 'restored'), qr/22023/, 'an older one refused');
is(ask($node, 'SELECT count(*) FROM distlock.runs', 'restored'), 0, 'the history is not dumped');
is(ask($node, 'SELECT count(*) FROM distlock.locks', 'restored'), 0, 'nor are leases');
drop_session($s, $listener);
done_testing();
