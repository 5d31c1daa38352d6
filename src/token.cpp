// token.cpp - the token sequence.  Holds: last_value never goes back, and what the WAL has promised
// (last_value + log_cnt) is never below a token that has left the server.
#include "token.hpp"

#include <algorithm>

#include "catalog.hpp"

extern "C" {
#include "access/xloginsert.h"
}

namespace distlock {
namespace {

constexpr int64 kMicrosPerSecond = 1000000;
// 2026-01-01 in the server's time, whose epoch is 2000-01-01.
constexpr int64 kEpoch = int64{9497} * 86400 * kMicrosPerSecond;
static_assert((2026 - 2000) * 365 + 7 == 9497);  // seven leap days
constexpr int64 kReserveTime = 60 * kMicrosPerSecond;
constexpr int64 kReserveTokens = 1000000;

int64 clock_floor() {
    const int64 now = GetCurrentTimestamp() - kEpoch;
    return now > 0 && now + kReserveTime < kTokenLimit ? now : 0;
}

[[noreturn]] void report_exhausted(int64 last) {
    ereport(ERROR, errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
            errmsg("fencing tokens are used up"),
            errdetail("The last one was " INT64_FORMAT "; tokens stay below 2^53.", last),
            errhint("Somebody advanced them too far with distlock.advance_token or "
                    "distlock.raise_token."));
    pg_unreachable();
}

struct SequencePage {
    Buffer buffer;
    HeapTupleData tuple;
    Form_pg_sequence_data data;
    uint32 *mark;  // in the page's special space, behind the server's magic number: unused padding
};

// Tells a page that this server wrote itself since it started, in this database, from one that came
// by replay, by a restore, by setval or as a copy of a template.  Replay leaves the mark zero.
uint32 own_mark(const SequencePage &page) {
    const uint64 written = PageGetLSN(BufferGetPage(page.buffer));
    const uint64 started = static_cast<uint64>(PgStartTime);
    return static_cast<uint32>(written ^ (written >> 32) ^ started ^ (started >> 32)) ^
           static_cast<uint32>(MyDatabaseId) ^ 0xD157;
}

SequencePage lock_page(Relation sequence) {
    SequencePage page{};
    page.buffer = ReadBuffer(sequence, 0);
    LockBuffer(page.buffer, BUFFER_LOCK_EXCLUSIVE);
    const ItemId item = PageGetItemId(BufferGetPage(page.buffer), FirstOffsetNumber);
    page.tuple.t_data =
        reinterpret_cast<HeapTupleHeader>(PageGetItem(BufferGetPage(page.buffer), item));
    page.tuple.t_len = ItemIdGetLength(item);
    page.data = reinterpret_cast<Form_pg_sequence_data>(GETSTRUCT(&page.tuple));
    const auto special = PageGetSpecialPointer(BufferGetPage(page.buffer));
    page.mark = reinterpret_cast<uint32 *>(special) + 1;
    return page;
}

// Writes the reservation as nextval does: the logged page holds the reserved value.
void log_reservation(Relation sequence, SequencePage &page, int64 reserved) {
    xl_seq_rec record{};
    XLogBeginInsert();
    XLogRegisterBuffer(0, page.buffer, REGBUF_WILL_INIT);
    page.data->last_value = reserved;
    page.data->is_called = true;
    page.data->log_cnt = 0;
    compat::set_locator(record, sequence);
    XLogRegisterData(reinterpret_cast<char *>(&record), sizeof record);
    XLogRegisterData(reinterpret_cast<char *>(page.tuple.t_data),
                     static_cast<uint32>(page.tuple.t_len));
    const XLogRecPtr end = XLogInsert(RM_SEQ_ID, XLOG_SEQ_LOG);  // PageSetLSN evaluates twice
    PageSetLSN(BufferGetPage(page.buffer), end);
    *page.mark = own_mark(page);
}

// The atomic step: sets the sequence to value(last), logs if needed, flushes what covers it.
template <pg::Plain Value>
int64 step(Value value) {
    PreventCommandIfReadOnly("distlock token");
    PreventCommandIfParallelMode("distlock token");
    Relation sequence = relation_open(catalog::oids().token_seq, RowExclusiveLock);
    (void)GetTopTransactionId();  // before the critical section: the record carries it
    const int64 now = clock_floor();
    SequencePage page = lock_page(sequence);
    const bool own = *page.mark == own_mark(page);
    const int64 last = page.data->last_value;
    // A state from elsewhere may have been used before, by a server that is gone (another standby
    // promoted from it, an earlier restore) or by a sequence that was dropped.  That one began as
    // far ahead of the clock as we do, but earlier; so begin behind what it can have reached.
    const bool foreign = !own && now != 0;
    const int64 next = std::max(value(last, now), foreign ? now + kReserveTime : 0);
    if (next >= kTokenLimit) {
        UnlockReleaseBuffer(page.buffer);
        report_exhausted(last);
    }
    // A checkpoint that passed may replay from here: the page must be in the WAL after it.
    int64 reserved = last + page.data->log_cnt;
    const XLogRecPtr before = PageGetLSN(BufferGetPage(page.buffer));
    const bool log = !own || next > reserved || before <= GetRedoRecPtr();

    START_CRIT_SECTION();
    MarkBufferDirty(page.buffer);
    if (log && RelationNeedsWAL(sequence)) {
        reserved = std::min(std::max(now + kReserveTime, next + kReserveTokens), kTokenLimit - 1);
        log_reservation(sequence, page, reserved);
    }
    page.data->last_value = next;
    page.data->is_called = true;
    page.data->log_cnt = std::max<int64>(reserved - next, 0);
    END_CRIT_SECTION();

    const XLogRecPtr covers = PageGetLSN(BufferGetPage(page.buffer));
    UnlockReleaseBuffer(page.buffer);
    // The record that covers this value may be another transaction's, and not flushed yet.
    XLogFlush(covers);
    relation_close(sequence, NoLock);
    return next;
}

}  // namespace

int64 next_token() {
    return step([](int64 last, int64 now) { return std::max(last + 1, now); });
}

int64 clock_token() { return clock_floor(); }

int64 advance_token(int64 floor) {
    return step([=](int64 last, int64) { return std::max(last, floor); });
}

}  // namespace distlock
