// distlock.cpp - module entry: magic, settings, callbacks; nothing else.
#include "catalog.hpp"
#include "guard.hpp"
#include "pg.hpp"
#include "prefix.hpp"
#include "settings.hpp"
#include "txn.hpp"

extern "C" {
#ifdef PG_MODULE_MAGIC_EXT
PG_MODULE_MAGIC_EXT(.name = "distlock", .version = "1.0.0");
#else
PG_MODULE_MAGIC;
#endif

PGDLLEXPORT void _PG_init(void);

void _PG_init(void) {
    distlock::settings::define();
    distlock::catalog::watch_changes();
    distlock::watch_tables();
    distlock::watch_prefixes();
    distlock::txn::register_callbacks();
}
}
