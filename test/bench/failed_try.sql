SELECT distlock.try_acquire('held', '30 s');
