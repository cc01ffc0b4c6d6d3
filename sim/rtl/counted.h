// What changes in a part of a stitched machine, by module of its kind: in a library that is built for it (activity.py) these
// have lists of what is counted; others have empty ones.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kind.h"

class Counted {
public:
    Counted() = default;
    Counted(const Kind& kind, const char* state) : kind_(&kind), state_(state), counts_(kind.modules.size()) {}

    // From here on changes are counted.
    void see() {
        seen_.clear();
        for (const Source& source : kind_->sources)
            seen_.insert(seen_.end(), state_ + source.offset, state_ + source.offset + source.bytes);
    }

    // What a part that has settled shows at the end of a cycle, against the cycle before. One that is asleep shows the same.
    void changes() {
        char* seen = seen_.data();
        for (const Source& source : kind_->sources) {
            const char* now = state_ + source.offset;
            const size_t bytes = source.bytes / source.words;
            if (memcmp(seen, now, source.bytes)) {
                Count& total = counts_[source.module];
                for (size_t at = 0; at < source.bytes; at += bytes) {
                    const uint64_t changed = bits_between(seen + at, now + at, bytes);
                    total.changes += changed;
                    if (changed) total.clocked += source.width;
                }
                memcpy(seen, now, source.bytes);
            }
            seen += source.bytes;
        }
    }

    void accesses() {
        for (const Memory& memory : kind_->accessed) {
            if (!state_[memory.enable.offset]) continue;
            Count& total = counts_[memory.module];
            ++(any(state_ + memory.write.offset, memory.write.bytes) ? total.writes : total.reads);
        }
    }

    // How many modules, and a line for each: name, changes, clocked, reads, writes.
    std::string text() const {
        std::string text = std::to_string(counts_.size()) + "\n";
        for (size_t number = 0; number < counts_.size(); ++number) {
            const Count& each = counts_[number];
            text += kind_->modules[number];
            for (uint64_t value : {each.changes, each.clocked, each.reads, each.writes}) text += " " + std::to_string(value);
            text += "\n";
        }
        return text;
    }

private:
    struct Count {
        uint64_t changes = 0, clocked = 0, reads = 0, writes = 0;
    };

    const Kind* kind_ = nullptr;
    const char* state_ = nullptr;
    std::vector<char> seen_;        // sources as they were last counted
    std::vector<Count> counts_;     // by module of the kind

    static uint64_t bits_between(const char* one, const char* other, size_t bytes) {
        uint64_t sum = 0;
        for (; bytes >= 8; bytes -= 8, one += 8, other += 8) {
            uint64_t left, right;
            memcpy(&left, one, 8);
            memcpy(&right, other, 8);
            sum += __builtin_popcountll(left ^ right);
        }
        for (; bytes; --bytes) sum += __builtin_popcount(static_cast<uint8_t>(*one++ ^ *other++));
        return sum;
    }

    static bool any(const char* bytes, size_t count) {
        return std::any_of(bytes, bytes + count, [](char byte) { return byte; });
    }
};
