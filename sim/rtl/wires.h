// The wires out of a part of a stitched machine.
//
// Most of them keep their value in most cycles: so it is not each wire that is looked at, but the places where they begin, up
// to kBlock bytes of the part's state at a time, and only where these are not as they were the wires are.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

// A port drives a port.
struct Wire {
    const char* from;
    char* to;
    uint32_t bytes;
    uint32_t sink;
    bool live;          // its source is no constant
};

// A port of one bit drives a bit.
struct Bit {
    const char* from;
    char* to;
    uint32_t sink;
    char mask;
};

class Wires {
public:
    void add(const Wire& wire) { wires_.push_back(wire); }
    void add(const Bit& bit) { bits_.push_back(bit); }

    // Moves all values, and calls notice(sink) where one is new.
    template <typename Notice>
    void move_all(Notice notice) const {
        move(0, wires_.size(), 0, bits_.size(), notice);
    }

    // From here on only `move` moves values. What never changes has moved for the last time.
    void group() {
        wires_.erase(std::remove_if(wires_.begin(), wires_.end(), [](const Wire& wire) { return !wire.live; }), wires_.end());
        auto before = [](const auto& one, const auto& other) { return one.from < other.from; };
        std::stable_sort(wires_.begin(), wires_.end(), before);
        std::stable_sort(bits_.begin(), bits_.end(), before);
        size_t wire = 0, bit = 0;
        while (wire < wires_.size() || bit < bits_.size()) {
            const char* from = wire == wires_.size() || (bit < bits_.size() && bits_[bit].from < wires_[wire].from)
                ? bits_[bit].from : wires_[wire].from;
            const char* end = from;
            auto in = [&](const char* begin, size_t bytes) {
                if (begin + bytes > from + kBlock && begin != from) return false;
                end = std::max(end, begin + bytes);
                return true;
            };
            while (wire < wires_.size() && in(wires_[wire].from, wires_[wire].bytes)) ++wire;
            while (bit < bits_.size() && in(bits_[bit].from, 1)) ++bit;
            blocks_.push_back({from, size_t(end - from), wire, bit});
        }
    }

    // As `move_all`, after `group`.
    template <typename Notice>
    void move(Notice notice) {
        if (seen_.empty()) {
            // There is nothing to compare with yet: no value is one that its source cannot have.
            for (const Block& block : blocks_) seen_.insert(seen_.end(), block.from, block.from + block.bytes);
            move_all(notice);
            return;
        }
        char* seen = seen_.data();
        size_t wire = 0, bit = 0;
        for (const Block& block : blocks_) {
            if (memcmp(seen, block.from, block.bytes)) {
                memcpy(seen, block.from, block.bytes);
                move(wire, block.wires, bit, block.bits, notice);
            }
            seen += block.bytes;
            wire = block.wires;
            bit = block.bits;
        }
    }

    // Whether each value is at both ends.
    bool settled() const {
        return std::all_of(wires_.begin(), wires_.end(), [](const Wire& wire) { return !memcmp(wire.from, wire.to, wire.bytes); })
            && std::all_of(bits_.begin(), bits_.end(), [](const Bit& bit) { return !*bit.from == !(*bit.to & bit.mask); });
    }

private:
    static constexpr std::ptrdiff_t kBlock = 64;

    struct Block {
        const char* from;
        size_t bytes;
        size_t wires, bits;     // its last ones end there
    };

    std::vector<Wire> wires_;
    std::vector<Bit> bits_;
    std::vector<Block> blocks_;
    std::vector<char> seen_;    // of all blocks, as they were when their wires were last looked at; empty before

    template <typename Notice>
    void move(size_t wire, size_t wires, size_t bit, size_t bits, Notice notice) const {
        for (; wire < wires; ++wire)
            if (moved(wires_[wire])) notice(wires_[wire].sink);
        for (; bit < bits; ++bit) {
            const Bit& each = bits_[bit];
            const char value = *each.from ? *each.to | each.mask : *each.to & ~each.mask;
            if (value == *each.to) continue;
            *each.to = value;
            notice(each.sink);
        }
    }

    static bool moved(const Wire& wire) {
        switch (wire.bytes) {
            case 1: return moved<uint8_t>(wire);
            case 2: return moved<uint16_t>(wire);
            case 4: return moved<uint32_t>(wire);
            case 8: return moved<uint64_t>(wire);
        }
        if (!memcmp(wire.to, wire.from, wire.bytes)) return false;
        memcpy(wire.to, wire.from, wire.bytes);
        return true;
    }

    template <typename T>
    static bool moved(const Wire& wire) {
        T value, old;
        memcpy(&value, wire.from, sizeof value);
        memcpy(&old, wire.to, sizeof old);
        if (value == old) return false;
        memcpy(wire.to, &value, sizeof value);
        return true;
    }
};
