# A publication FOR ALL TABLES includes distlock's own; a subscriber that uses distlock itself keeps
# its locks, and replication goes on.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use Test::More;

my $publisher = new_node('publisher', allows_streaming => 'logical');
my $subscriber = new_node('subscriber', allows_streaming => 'logical');
for my $node ($publisher, $subscriber)
{
	$node->safe_psql('postgres', 'CREATE TABLE work (id int PRIMARY KEY, fence bigint)');
}
# The same lock on both sides, held before the subscription begins.
my $theirs = $publisher->safe_psql('postgres', q{
	SELECT distlock.try_acquire('both', ttl => '1h', owner => 'publisher')});
my $ours = $subscriber->safe_psql('postgres', q{
	SELECT distlock.try_acquire('both', ttl => '1h', owner => 'subscriber')});
$publisher->safe_psql('postgres', 'CREATE PUBLICATION p FOR ALL TABLES');
my $from = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$from' PUBLICATION p");
ok(within(60, $subscriber, q{SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel}), 'all tables are synchronised');
is($subscriber->safe_psql('postgres', q{SELECT count(*) FROM pg_subscription_rel WHERE srrelid = 'distlock.lease'::regclass}), 1,
	'the lease table is part of the subscription');

# Inserts, updates and deletes of lease rows arrive in between.
$publisher->safe_psql('postgres', qq{
	SELECT distlock.renew('both', $theirs);
	SELECT distlock.try_acquire('only there');
	SELECT distlock.release('both', $theirs);
	SELECT distlock.prune('0');
	INSERT INTO work VALUES (1)});
ok(within(30, $subscriber, 'SELECT count(*) = 1 FROM work'), 'user rows are replicated');
is($subscriber->safe_psql('postgres', 'SELECT name, owner FROM distlock.locks'), 'both|subscriber', 'leases are not');
is($subscriber->safe_psql('postgres', "SELECT distlock.is_current('both', $ours)"), 't', 'its own lease stands');
my $next = $subscriber->safe_psql('postgres', qq{
	SELECT distlock.release('both', $ours); SELECT distlock.try_acquire('both')}) =~ s/^released\n//r;
cmp_ok($next, '>', $ours, 'its tokens go on');

# A table protected on the subscriber takes what the origin has checked, also with always => true.
$publisher->safe_psql('postgres', q{SELECT distlock.protect('work', 'work', token_column => 'fence')});
$subscriber->safe_psql('postgres', q{SELECT distlock.protect('work', 'work', token_column => 'fence', always => true)});
$publisher->safe_psql('postgres', q{
	SELECT distlock.try_acquire('work') AS token \gset
	INSERT INTO work VALUES (2, :token);
	UPDATE work SET id = 3, fence = :token WHERE id = 1});
ok(within(30, $subscriber, q{SELECT string_agg(id::text, ',' ORDER BY id) = '2,3' FROM work}),
	'rows that the origin has checked pass');
like(ask($subscriber, 'INSERT INTO work VALUES (4)'), qr/LK002/, 'others are checked');
like(ask($subscriber, 'SET session_replication_role = replica; INSERT INTO work VALUES (4)'), qr/LK002/,
	'also under session_replication_role = replica');
is($subscriber->safe_psql('postgres', 'SELECT sum(apply_error_count) + sum(sync_error_count) FROM pg_stat_subscription_stats'), 0,
	'no error of the apply workers');

done_testing();
