BEGIN;
SELECT set_config('bench.token', :token::text, true);
UPDATE t SET v = v + 1;
COMMIT;
SELECT bench.sample_cpu();
