# Grants at full speed beside advance_token, raise_token and checkpoints: no token twice, and none below what
# advance_token had promised.  DISTLOCK_SECONDS lets it run for longer.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Distlock;
use Test::More;

my $seconds = $ENV{DISTLOCK_SECONDS} // 5;
my $node = new_node('main', conf => 'synchronous_commit = off');
$node->safe_psql('postgres', q{
	CREATE UNLOGGED TABLE handed (token bigint PRIMARY KEY);
	CREATE PROCEDURE grants(lock text) LANGUAGE plpgsql AS $$
	DECLARE before bigint := 0; token bigint;
	BEGIN
		FOR i IN 1 .. 50 LOOP
			token := distlock.try_acquire(lock, durable => false);
			ASSERT token > before, 'token ' || token || ' after ' || before;
			ASSERT distlock.release(lock, token) = 'released';
			INSERT INTO handed VALUES (token);
			before := token;
		END LOOP;
	END $$;
	-- As close before the sequence's live value as a reader can aim.  What a grant is raised to
	-- may be another lock's token, but no later one of any.
	CREATE PROCEDURE advance(lock text) LANGUAGE plpgsql AS $$
	DECLARE last bigint; token bigint;
	BEGIN
		FOR i IN 1 .. 50 LOOP
			SELECT last_value INTO last FROM distlock.token_seq;
			last := distlock.advance_token(last + 1 + i % 3);
			token := distlock.try_acquire(lock, durable => false);
			ASSERT token > last, 'token ' || token || ' after advance to ' || last;
			INSERT INTO handed VALUES (token);
			last := distlock.raise_token(lock, token, token + 1 + i % 3);
			ASSERT last = token + 1 + i % 3, 'raised to ' || last || ' from ' || token;
			ASSERT distlock.release(lock, last) = 'released';
			token := distlock.try_acquire(lock, durable => false);
			ASSERT token > last, 'token ' || token || ' after raise to ' || last;
			PERFORM distlock.release(lock, token);
		END LOOP;
	END $$;
});

# The clock alone would tell tokens apart; ahead of it only counting does.
$node->safe_psql('postgres',
	q{SELECT distlock.advance_token((extract(epoch FROM now() - '2025-12-31') * 1e6)::bigint)});
$node->pgbench("-n -c 6 -j 2 -T $seconds", 0, [qr/number of failed transactions: 0/], [qr/^$/],
	'grants and advances at full speed', {
		'grants@4' => q{CALL grants('lock ' || :client_id);},
		'advance@2' => q{CALL advance('lock ' || :client_id);},
		'checkpoint@0' => q{CHECKPOINT;} });
my $count = $node->safe_psql('postgres', 'SELECT count(*) FROM handed');
note "$count tokens";
cmp_ok($count, '>', 1000, 'many tokens, none twice');

done_testing();
