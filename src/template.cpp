// template.cpp - see template.hpp.
#include "template.hpp"

extern "C" {
#include "utils/datum.h"
}
#include <cstring>

namespace distlock {
namespace {

[[noreturn]] void report_syntax(const char *text, const char *what) {
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("invalid lock template \"%s\"", text), errdetail("%s", what),
            errhint("Write {column} for a column's value, {{ and }} for braces."));
    pg_unreachable();
}

bool renders_alike_everywhere(Oid type) {
    switch (type) {
        case INT2OID:
        case INT4OID:
        case INT8OID:
        case TEXTOID:
        case VARCHAROID:
        case UUIDOID:
            return true;
        default:
            return false;
    }
}

Piece column_piece(std::string_view name, Relation table) {
    const AttrNumber number = find_column(table, name, "a lock template");
    const Form_pg_attribute column = TupleDescAttr(RelationGetDescr(table), number - 1);
    const Oid type = getBaseType(column->atttypid);
    if (!renders_alike_everywhere(type))
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("column \"%s\" of type %s cannot be part of a lock name",
                       NameStr(column->attname), format_type_be(column->atttypid)),
                errdetail("Its text form depends on settings of the session."),
                errhint("Use columns of type smallint, integer, bigint, text, varchar or uuid."));
    if (column->attgenerated != '\0')
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("generated column \"%s\" cannot be part of a lock name",
                       NameStr(column->attname)),
                errdetail("A BEFORE trigger sees it NULL or with its old value."),
                errhint("Use the columns that it is generated from."));
    return {{}, number, type};
}

// Reads up to an unescaped '}'; `at` stands behind the '{'.
std::string_view placeholder(const char *text, const char *&at) {
    StringInfoData name;
    initStringInfo(&name);
    for (;; at++) {
        if (*at == '\0') report_syntax(text, "A placeholder is not closed by \"}\".");
        if (*at == '}' && at[1] != '}') break;
        if (*at == '}') at++;
        appendStringInfoChar(&name, *at);
    }
    at++;
    if (name.len == 0) report_syntax(text, "A placeholder names no column.");
    return {name.data, static_cast<std::size_t>(name.len)};
}

std::string_view literal(const char *text, const char *&at) {
    StringInfoData out;
    initStringInfo(&out);
    for (; *at != '\0'; at++) {
        if (*at == '{' && at[1] != '{') break;
        if (*at == '}' && at[1] != '}') report_syntax(text, "A \"}\" closes no placeholder.");
        if (*at == '{' || *at == '}') at++;
        appendStringInfoChar(&out, *at);
    }
    return {out.data, static_cast<std::size_t>(out.len)};
}

void append_value(StringInfo out, Oid type, Datum value) {
    switch (type) {
        case INT2OID:
            appendStringInfo(out, "%d", DatumGetInt16(value));
            break;
        case INT4OID:
            appendStringInfo(out, "%d", DatumGetInt32(value));
            break;
        case INT8OID:
            appendStringInfo(out, INT64_FORMAT, DatumGetInt64(value));
            break;
        case UUIDOID:
            appendStringInfoString(out, DatumGetCString(DirectFunctionCall1(uuid_out, value)));
            break;
        default: {
            const auto s = pg::from_datum<std::string_view>(value);
            appendBinaryStringInfo(out, s.data(), static_cast<int>(s.size()));
        }
    }
}

}  // namespace

void check_name(std::string_view name) {
    if (!name.empty() && name.size() <= kMaxName) return;
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            name.empty() ? errmsg("lock name must not be empty") : errmsg("lock name is too long"),
            errdetail("It has %zu bytes; a lock name has 1 to %d.", name.size(), kMaxName),
            errhint("Names are compared byte by byte and never cut; shorten it, or use a digest."));
}

AttrNumber find_column(Relation table, std::string_view name, const char *purpose) {
    const TupleDesc columns = RelationGetDescr(table);
    for (int i = 0; i < columns->natts; i++) {
        const Form_pg_attribute column = TupleDescAttr(columns, i);
        if (!column->attisdropped && name == NameStr(column->attname)) return column->attnum;
    }
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("column \"%.*s\" of table \"%s\" does not exist", static_cast<int>(name.size()),
                   name.data(), RelationGetRelationName(table)),
            errdetail("It is named by %s of distlock.", purpose),
            errhint("Write the column's exact name. After renaming or dropping a column call "
                    "distlock.protect again."),
            errtable(table));
    pg_unreachable();
}

Template parse_template(const char *text, Relation table) {
    const std::size_t length = std::strlen(text);
    Template lock{static_cast<Piece *>(palloc((length + 1) * sizeof(Piece))), 0, true};
    for (const char *at = text; *at != '\0';) {
        if (*at == '{' && at[1] != '{') {
            at++;
            lock.pieces[lock.count++] = column_piece(placeholder(text, at), table);
            lock.constant = false;
        } else {
            lock.pieces[lock.count++] = {literal(text, at), 0, InvalidOid};
        }
    }
    if (lock.constant) check_name(lock.count == 0 ? std::string_view{} : lock.pieces[0].literal);
    return lock;
}

void render(const Template &lock, Relation table, TupleTableSlot *slot, StringInfo out) {
    resetStringInfo(out);
    for (int i = 0; i < lock.count; i++) {
        const Piece &piece = lock.pieces[i];
        if (piece.column == 0) {
            appendBinaryStringInfo(out, piece.literal.data(),
                                   static_cast<int>(piece.literal.size()));
            continue;
        }
        bool null = false;
        const Datum value = slot_getattr(slot, piece.column, &null);
        if (null)
            ereport(
                ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                errmsg("column \"%s\" is NULL, so the row has no lock name",
                       NameStr(TupleDescAttr(RelationGetDescr(table), piece.column - 1)->attname)),
                errdetail("The lock template of table \"%s\" uses this column.",
                          RelationGetRelationName(table)),
                errhint("Give the column a value, or declare it NOT NULL."), errtable(table));
        append_value(out, piece.type, value);
    }
    check_name({out->data, static_cast<std::size_t>(out->len)});
}

bool same_lock(const Template &lock, TupleTableSlot *a, TupleTableSlot *b) {
    for (int i = 0; i < lock.count; i++) {
        const AttrNumber column = lock.pieces[i].column;
        if (column == 0) continue;
        bool a_null = false, b_null = false;
        const Datum x = slot_getattr(a, column, &a_null);
        const Datum y = slot_getattr(b, column, &b_null);
        const Form_pg_attribute type = TupleDescAttr(a->tts_tupleDescriptor, column - 1);
        if (a_null || b_null || !datumIsEqual(x, y, type->attbyval, type->attlen)) return false;
    }
    return true;
}

}  // namespace distlock
