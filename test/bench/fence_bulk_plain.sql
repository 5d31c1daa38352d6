BEGIN;
UPDATE t SET v = v + 1;
COMMIT;
SELECT bench.sample_cpu();
