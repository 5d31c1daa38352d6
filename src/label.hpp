// label.hpp - what a waiting backend shows of itself to view `waiters`: mode, since when, and
// owner.
//
// It travels in the server's own progress report of the backend (under a command number that no
// view of the server shows), so we need no shared memory and abort clears it.  Nothing is shown
// with track_activities off, or while the backend reports the progress of something else.
#pragma once
#include "grant.hpp"

namespace distlock::label {

struct Label {
    int pid;
    Mode mode;
    TimestampTz since;
    std::string_view owner;  // at most kLabelBytes; empty = none
};

void show(const Request &request);
void clear();

// Calls body for the label of every backend that waits.
using EachLabel = void (*)(const Label &label, void *context);
void each(EachLabel body, void *context);

}  // namespace distlock::label
