// resultset.hpp - putting the rows of a set-returning function together.
#pragma once
#include "pg.hpp"

extern "C" {
#include "utils/tuplestore.h"
}

namespace distlock {

// One row, column by column; the function has called InitMaterializedSRF.
template <int kCount>
class RowBuilder {
public:
    void value(Datum v) { values_[next_++] = v; }
    void value_or_null(bool present, Datum v) {
        nulls_[next_] = !present;
        values_[next_++] = present ? v : Datum{0};
    }
    void text(std::string_view s) { value(pg::text_datum(s)); }
    // A text or jsonb as stored in a row of ours.
    void stored(struct varlena *v) {
        value_or_null(v != nullptr, v == nullptr
                                        ? Datum{0}
                                        : PointerGetDatum(PG_DETOAST_DATUM(PointerGetDatum(v))));
    }
    void put(FunctionCallInfo fcinfo) {
        auto *set = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
        tuplestore_putvalues(set->setResult, set->setDesc, values_, nulls_);
    }

private:
    Datum values_[kCount] = {};
    bool nulls_[kCount] = {};
    int next_ = 0;
};

}  // namespace distlock
