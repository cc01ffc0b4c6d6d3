// Simulated annealing of blocks on sites; the inner loop of place.py, which checks all arguments.
//
// A block sits on a site of its own kind, and a group of sites holds at most one block: a group of two sites is
// one GLB stream reachable from two columns. Moving a block into a taken group sends the block there to the site
// left behind, so every state met is legal. Cost is the sum over nets of (half perimeter of the bounding
// box)^exponent, in integers; the only floating-point operations are + - * / sqrt, which IEEE 754 rounds alike
// everywhere.
//
// Source: Betz and Rose, VPR, 1997 (cooling, window, stop rule).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

struct Random {  // splitmix64
    uint64_t state;
    uint64_t next() {
        uint64_t z = (state += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    int below(int n) { return int((next() >> 32) * uint64_t(n) >> 32); }
};

// The sites of one kind as a grid without the rows and columns that hold none, so that a window over MEM
// columns four tiles apart is sampled as evenly as one over adjacent PE columns.
struct Range {
    int low, high;
};

struct Grid {
    std::vector<int> xs, ys;
    std::vector<int32_t> site;  // by y, then x; -1: none
    // Windows by reach, then position on the axis, each row made when it is first asked for.
    std::vector<std::vector<Range>> near_x, near_y;

    static int rank(const std::vector<int>& axis, int value) {
        return int(std::lower_bound(axis.begin(), axis.end(), value) - axis.begin());
    }
    // Index range of an axis within `reach` of position i, never only i itself when there is more.
    static Range window(const std::vector<int>& axis, int i, int reach) {
        int low = rank(axis, axis[i] - reach), high = rank(axis, axis[i] + reach + 1) - 1;
        return {std::max(0, std::min(low, i - 1)), std::min(int(axis.size()) - 1, std::max(high, i + 1))};
    }
    static Range near(const std::vector<int>& axis, std::vector<std::vector<Range>>& known, int i, int reach) {
        if (size_t(reach) >= known.size()) known.resize(reach + 1);
        if (known[reach].empty())
            for (size_t each = 0; each < axis.size(); each++) known[reach].push_back(window(axis, int(each), reach));
        return known[reach][i];
    }
};

struct Placer {
    Placer(int blocks, int sites, int nets) : blocks(blocks), sites(sites), nets(nets) {}

    int blocks, sites, nets;
    const int32_t *block_kind, *site_kind, *site_x, *site_y, *site_group;
    const int32_t *allow_ptr, *allow, *net_ptr, *net_block;
    int32_t* site_of;
    Random random;

    std::vector<Grid> grids;
    std::vector<int32_t> rank_x, rank_y;   // of a site in its grid
    struct Spot {
        int32_t x, y;
    };
    std::vector<Spot> at;                  // by block, as `site_of` says
    std::vector<int32_t> owner;            // by group: the block in it, -1: free
    std::vector<int32_t> nets_ptr, nets_of;  // nets of a block
    std::vector<int32_t> movable;
    std::vector<int64_t> power;            // by half perimeter
    std::vector<int64_t> cost_of;          // by net
    std::vector<int32_t> touched, stamp;   // nets of the move under trial
    std::vector<int64_t> trial;
    std::vector<double> exponential;       // -ln of evenly spaced probabilities
    int32_t tick = 0;
    int64_t cost = 0, moves = 0;

    bool may_use(int block, int site) const {
        const int32_t *first = allow + allow_ptr[block], *last = allow + allow_ptr[block + 1];
        return first == last || std::binary_search(first, last, site);
    }

    void put(int block, int site) {
        site_of[block] = site;
        at[block] = {site_x[site], site_y[site]};
    }

    int64_t net_cost(int net) const {
        int x0 = INT32_MAX, x1 = INT32_MIN, y0 = INT32_MAX, y1 = INT32_MIN;
        for (int i = net_ptr[net]; i < net_ptr[net + 1]; i++) {
            auto [x, y] = at[net_block[i]];
            x0 = std::min(x0, x), x1 = std::max(x1, x), y0 = std::min(y0, y), y1 = std::max(y1, y);
        }
        return power[x1 - x0 + y1 - y0];
    }

    void prepare(int exponent) {
        int kinds = 0, groups = 0, extent_x = 0, extent_y = 0;
        for (int s = 0; s < sites; s++) {
            kinds = std::max(kinds, site_kind[s] + 1), groups = std::max(groups, site_group[s] + 1);
            extent_x = std::max(extent_x, site_x[s]), extent_y = std::max(extent_y, site_y[s]);
        }
        grids.resize(kinds);
        for (int s = 0; s < sites; s++) {
            grids[site_kind[s]].xs.push_back(site_x[s]);
            grids[site_kind[s]].ys.push_back(site_y[s]);
        }
        for (Grid& g : grids) {
            for (auto* axis : {&g.xs, &g.ys}) {
                std::sort(axis->begin(), axis->end());
                axis->erase(std::unique(axis->begin(), axis->end()), axis->end());
            }
            g.site.assign(g.xs.size() * g.ys.size(), -1);
        }
        for (int s = 0; s < sites; s++) {
            Grid& g = grids[site_kind[s]];
            rank_x.push_back(Grid::rank(g.xs, site_x[s]));
            rank_y.push_back(Grid::rank(g.ys, site_y[s]));
            g.site[rank_y[s] * g.xs.size() + rank_x[s]] = s;
        }
        owner.assign(groups, -1);
        at.resize(blocks);
        for (int b = 0; b < blocks; b++) {
            put(b, site_of[b]);
            owner[site_group[site_of[b]]] = b;
            if (allow_ptr[b + 1] - allow_ptr[b] != 1) movable.push_back(b);
        }
        nets_ptr.assign(blocks + 1, 0);
        for (int i = 0; i < net_ptr[nets]; i++) nets_ptr[net_block[i] + 1]++;
        for (int b = 0; b < blocks; b++) nets_ptr[b + 1] += nets_ptr[b];
        nets_of.resize(nets_ptr[blocks]);
        std::vector<int32_t> fill(nets_ptr.begin(), nets_ptr.end() - 1);
        for (int n = 0; n < nets; n++)
            for (int i = net_ptr[n]; i < net_ptr[n + 1]; i++) nets_of[fill[net_block[i]]++] = n;

        power.resize(extent_x + extent_y + 1);
        for (size_t d = 0; d < power.size(); d++) {
            power[d] = 1;
            for (int e = 0; e < exponent; e++) power[d] *= int64_t(d);
        }
        stamp.assign(nets, 0);
        cost_of.resize(nets);
        trial.resize(nets);
        for (int n = 0; n < nets; n++) cost += cost_of[n] = net_cost(n);
        // Rounded, so that a last-bit difference between mathematical libraries cannot change a result.
        const int steps = 4096;
        for (int i = 0; i < steps; i++)
            exponential.push_back(std::floor(-std::log((i + 0.5) / steps) * (1 << 20) + 0.5) / (1 << 20));
    }

    // A site for the block to try: within the window, or any of those it is restricted to. -1: none found.
    int pick(int block, int reach) {
        int count = allow_ptr[block + 1] - allow_ptr[block], here = site_of[block];
        if (count) return allow[allow_ptr[block] + random.below(count)];
        Grid& g = grids[block_kind[block]];
        Range in_x = Grid::near(g.xs, g.near_x, rank_x[here], reach), in_y = Grid::near(g.ys, g.near_y, rank_y[here], reach);
        for (int attempt = 0; attempt < 4; attempt++) {
            int x = in_x.low + random.below(in_x.high - in_x.low + 1), y = in_y.low + random.below(in_y.high - in_y.low + 1);
            int site = g.site[y * g.xs.size() + x];
            if (site >= 0 && site != here) return site;
        }
        return -1;
    }

    void touch(int block) {
        for (int i = nets_ptr[block]; i < nets_ptr[block + 1]; i++)
            if (stamp[nets_of[i]] != tick) stamp[nets_of[i]] = tick, touched.push_back(nets_of[i]);
    }

    // Try one move; keep it if it costs no more than drawn at this temperature (negative: keep always).
    bool step(int reach, double temperature, int64_t& change) {
        moves++;
        int block = movable[random.below(int(movable.size()))];
        int from = site_of[block], to = pick(block, reach);
        if (to < 0 || to == from) return false;
        int other = owner[site_group[to]];
        if (other == block) other = -1;
        if (other >= 0 && !may_use(other, from)) return false;
        tick++;
        touched.clear();
        touch(block);
        put(block, to);
        int other_from = -1;  // of the group of `to`, but not always `to` itself
        if (other >= 0) touch(other), other_from = site_of[other], put(other, from);
        change = 0;
        for (int n : touched) change += (trial[n] = net_cost(n)) - cost_of[n];
        bool keep = change <= 0 || temperature < 0 ||
                    double(change) <= temperature * exponential[random.below(int(exponential.size()))];
        if (!keep) {
            put(block, from);
            if (other >= 0) put(other, other_from);
            return false;
        }
        for (int n : touched) cost_of[n] = trial[n];
        cost += change;
        owner[site_group[from]] = other;  // first: both sites may be of one group
        owner[site_group[to]] = block;
        return true;
    }

    int anneal(int effort) {
        if (movable.empty() || nets == 0) return 0;
        int size = int(movable.size()), root = 1, far = int(power.size()), rounds = 0;
        while (root * root * root < size) root++;
        // Effort x blocks^(4/3); a handful of blocks gets more, since it costs nothing.
        int count = std::max(effort * size * root, 2000);

        double sum = 0, squares = 0;
        int64_t change;
        for (int i = 0; i < size; i++) {
            step(far, -1, change);
            sum += double(cost), squares += double(cost) * double(cost);
        }
        double variance = squares / size - sum / size * (sum / size);
        double temperature = 20 * std::sqrt(std::max(variance, 1.0));
        double reach = far;
        while (temperature > 0.005 * double(cost) / nets) {
            int kept = 0;
            for (int i = 0; i < count; i++) kept += step(std::max(1, int(reach)), temperature, change);
            double rate = double(kept) / count;
            temperature *= rate > 0.96 ? 0.5 : rate > 0.8 ? 0.9 : rate > 0.15 || reach > 1 ? 0.95 : 0.8;
            reach = std::min(double(far), std::max(1.0, reach * (1 - 0.44 + rate)));
            rounds++;
            if (cost == 0) break;
        }
        for (int64_t before = cost + 1; cost < before;) {  // greedy until a round gains nothing
            before = cost;
            for (int i = 0; i < count; i++) step(i & 1 ? 2 : far, 0, change);
            rounds++;
        }
        return rounds;
    }
};

}  // namespace

// `site_of` holds a legal placement on entry and the result on return; returns the number of temperatures.
// `report`: cost at entry, cost at return, moves tried.
extern "C" int32_t sardonyx_place(int32_t blocks, int32_t sites, int32_t nets, const int32_t* block_kind,
                                  const int32_t* site_kind, const int32_t* site_x, const int32_t* site_y,
                                  const int32_t* site_group, const int32_t* allow_ptr, const int32_t* allow,
                                  const int32_t* net_ptr, const int32_t* net_block, uint64_t seed,
                                  int32_t exponent, int32_t effort, int32_t* site_of, int64_t* report) {
    Placer p(blocks, sites, nets);
    p.block_kind = block_kind;
    p.site_kind = site_kind, p.site_x = site_x, p.site_y = site_y, p.site_group = site_group;
    p.allow_ptr = allow_ptr, p.allow = allow, p.net_ptr = net_ptr, p.net_block = net_block;
    p.site_of = site_of;
    p.random.state = seed;
    p.prepare(exponent);
    report[0] = p.cost;
    int32_t rounds = p.anneal(effort);
    report[1] = p.cost;
    report[2] = p.moves;
    return rounds;
}
