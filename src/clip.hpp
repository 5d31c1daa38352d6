// clip.hpp - labels in messages, events and progress reports are cut; nothing stored is.
#pragma once
#include "pg.hpp"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace distlock {

inline constexpr int kLabelBytes = 128;

// The first kLabelBytes of a text as stored, ending on a whole character.
inline std::string_view clip_label(struct varlena *text) {
    const auto whole = pg::from_datum<std::string_view>(PointerGetDatum(text));
    const int length = pg_mbcliplen(whole.data(), static_cast<int>(whole.size()), kLabelBytes);
    return whole.substr(0, static_cast<std::size_t>(length));
}

}  // namespace distlock
