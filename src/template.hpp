// template.hpp - lock templates: 'report:{id}' and a row give the lock name 'report:7'.
//
// {column} stands for the value of a column of an integer, text or uuid type; other types render by
// session settings and would name different locks in different sessions.  {{ and }} are braces.
#pragma once
#include "pg.hpp"

extern "C" {
#include "lib/stringinfo.h"
}

namespace distlock {

struct Piece {
    std::string_view literal;  // used when column is 0
    AttrNumber column;
    Oid type;  // base type of the column
};

struct Template {
    Piece *pieces;
    int count;
    bool constant;  // no placeholder: one lock for the table
};

// Error (22023) when the text is no template or does not fit the table.
Template parse_template(const char *text, Relation table);

// The column of that name, or an error (22023) that says what it is for.
AttrNumber find_column(Relation table, std::string_view name, const char *purpose);

// Appends the lock name for the row in `slot`.  Error on NULL values and bad lengths.
void render(const Template &lock, Relation table, TupleTableSlot *slot, StringInfo out);

// Whether two rows surely have the same lock name (their placeholder columns are equal).
bool same_lock(const Template &lock, TupleTableSlot *a, TupleTableSlot *b);

// Error unless 1 to 512 bytes.
inline constexpr int kMaxName = 512;
void check_name(std::string_view name);

}  // namespace distlock
