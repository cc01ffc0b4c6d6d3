// Negotiated congestion on a routing graph; the inner loop of route.py, which checks all arguments.
//
// Each round rips up the nets that share a node and routes them again, dearer where nodes are taken now
// (`present`) or were fought over before (`history`), until no node serves two nets. A net grows as a tree,
// nearest sink first, each sink by A* from the whole tree: one switch-box output is one hop to the neighbour tile
// and costs at least HOP, so HOP x Manhattan distance never overestimates. All costs are integers and all ties
// end at the node number.
//
// Source: McMurchie and Ebeling, PathFinder, 1995.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace {

constexpr int64_t HOP = 64;
constexpr int64_t PRESENT_UNIT = 16;  // fixed point of `present`
constexpr int PATIENCE = 20;
constexpr int64_t BLOCKED = int64_t(1) << 40;

struct Entry {
    int64_t key;  // cost so far + estimate, then estimate: of equals the nearest to the sink goes first
    int32_t node;
    int64_t cost;
    bool operator<(const Entry& other) const {  // std heaps keep the largest on top
        return key != other.key ? key > other.key : node > other.node;
    }
};

struct Tree {
    std::vector<int32_t> node, previous, hops;  // in order of growth: a predecessor before its successors
};

struct Router {
    Router(int nodes, int nets, int latency) : nodes(nodes), nets(nets), latency(latency) {}

    int nodes, nets;
    const int32_t *fanout_ptr, *fanout, *x, *y;
    const uint8_t* is_hop;
    const int32_t *source, *sink_ptr, *sink;
    int64_t latency;  // cost of a hop between source and branch, 0..HOP

    std::vector<Tree> trees;
    std::vector<int32_t> head;     // tile in which the fan-out of a node begins, as a node number
    std::vector<int32_t> taken;    // nets on a node
    std::vector<int64_t> history;
    std::vector<int64_t> best;     // A*: valid where seen == tick
    std::vector<int32_t> seen, from, place_in_tree, in_tree;
    std::vector<Entry> heap;
    std::vector<int32_t> path;
    int32_t tick = 0, tree_tick = 0;
    int64_t present = 0;
    bool strict = false;           // last pass: taken nodes are walls, history is forgotten
    int lost = -1;                 // sink that cannot be reached at all

    void prepare() {
        trees.resize(nets);
        head.resize(nodes);
        for (int n = 0; n < nodes; n++)
            head[n] = fanout_ptr[n] < fanout_ptr[n + 1] ? fanout[fanout_ptr[n]] : n;
        taken.assign(nodes, 0), history.assign(nodes, 0);
        best.assign(nodes, 0), seen.assign(nodes, 0), from.assign(nodes, -1);
        place_in_tree.assign(nodes, 0), in_tree.assign(nodes, 0);
    }

    int64_t distance(int node, int target) const {
        return std::abs(x[node] - x[target]) + std::abs(y[node] - y[target]);
    }

    int64_t price(int node) const {
        if (strict) return (is_hop[node] ? HOP : 0) + (taken[node] ? BLOCKED : 0);
        int64_t base = (is_hop[node] ? HOP : 0) + history[node];
        return base + base * present * taken[node] / PRESENT_UNIT;
    }

    void push(int node, int previous, int64_t cost, int target) {
        if (seen[node] == tick && best[node] <= cost) return;
        seen[node] = tick, best[node] = cost, from[node] = previous;
        int64_t estimate = distance(head[node], target);
        heap.push_back({((cost + HOP * estimate) << 16) + estimate, node, cost});
        std::push_heap(heap.begin(), heap.end());
    }

    void add(Tree& tree, int node, int previous, int hops) {
        in_tree[node] = tree_tick;
        place_in_tree[node] = int(tree.node.size());
        tree.node.push_back(node), tree.previous.push_back(previous), tree.hops.push_back(hops);
    }

    bool connect(Tree& tree, int target) {
        tick++;
        heap.clear();
        for (size_t i = 0; i < tree.node.size(); i++) push(tree.node[i], -1, latency * tree.hops[i], target);
        while (!heap.empty()) {
            std::pop_heap(heap.begin(), heap.end());
            Entry top = heap.back();
            heap.pop_back();
            if (top.cost != best[top.node]) continue;
            if (top.node == target) {
                path.clear();
                int n = target;
                for (; from[n] >= 0; n = from[n]) path.push_back(n);
                int hops = tree.hops[place_in_tree[n]];
                for (size_t i = path.size(); i--;) {
                    hops += is_hop[path[i]];
                    add(tree, path[i], n, hops);
                    n = path[i];
                }
                return true;
            }
            for (int i = fanout_ptr[top.node]; i < fanout_ptr[top.node + 1]; i++) {
                int next = fanout[i];
                if (is_hop[next] ? in_tree[next] != tree_tick : next == target)
                    push(next, top.node, top.cost + price(next), target);
            }
        }
        return false;
    }

    bool grow(int net, const std::vector<int32_t>& order) {
        Tree& tree = trees[net];
        for (int n : tree.node) taken[n]--;
        tree = Tree();
        tree_tick++;
        add(tree, source[net], -1, 0);
        for (int s = sink_ptr[net]; s < sink_ptr[net + 1]; s++)
            if (!connect(tree, sink[order[s]])) {
                lost = order[s];
                return false;
            }
        for (int n : tree.node) taken[n]++;
        return true;
    }

    bool fights(int net) const {
        for (int n : trees[net].node)
            if (taken[n] > 1) return true;
        return false;
    }

    int64_t worth(const Tree& tree) const {
        int64_t sum = HOP * int64_t(tree.node.size());
        for (size_t i = 0; i < tree.node.size(); i++)
            if (!is_hop[tree.node[i]]) sum += latency * tree.hops[i];
        return sum;
    }

    // Shorten legal routes: each net again, the nodes of the others being walls, until a pass gains nothing.
    void polish(const std::vector<int32_t>& nets_order, const std::vector<int32_t>& sinks_order) {
        strict = true;
        for (bool gained = true; gained;) {
            gained = false;
            for (int net : nets_order) {
                Tree old = trees[net];
                grow(net, sinks_order);  // succeeds: the old tree is still free
                if (worth(trees[net]) < worth(old)) {
                    gained = true;
                } else {
                    for (int n : trees[net].node) taken[n]--;
                    for (int n : old.node) taken[n]++;
                    trees[net] = std::move(old);
                }
            }
        }
    }

    // Returns the rounds needed, or -rounds when nodes are still shared, or 0 when a sink cannot be reached.
    int run(int rounds) {
        std::vector<int32_t> sinks_order(sink_ptr[nets]), nets_order(nets), span(nets, 0);
        for (int net = 0; net < nets; net++) {
            auto first = sinks_order.begin() + sink_ptr[net], last = sinks_order.begin() + sink_ptr[net + 1];
            for (int s = sink_ptr[net]; s < sink_ptr[net + 1]; s++) sinks_order[s] = s;
            std::stable_sort(first, last, [&](int a, int b) {
                return distance(source[net], sink[a]) < distance(source[net], sink[b]);
            });
            for (auto s = first; s != last; ++s) span[net] += int(distance(source[net], sink[*s]));
            nets_order[net] = net;
        }
        // Wide nets first: they have the least freedom later.
        std::stable_sort(nets_order.begin(), nets_order.end(),
                         [&](int a, int b) { return span[a] > span[b]; });

        std::vector<int> fewest;  // by round: shared nodes at best so far
        present = PRESENT_UNIT / 2;
        for (int round = 1; round <= rounds; round++) {
            for (int net : nets_order)
                if ((round == 1 || fights(net)) && !grow(net, sinks_order)) return 0;
            int shared = 0;
            for (int n = 0; n < nodes; n++)
                if (taken[n] > 1) {
                    shared += taken[n] - 1;
                    history[n] += HOP * (taken[n] - 1);
                }
            if (shared == 0) {
                polish(nets_order, sinks_order);
                return round;
            }
            // Hopeless: many nodes still shared and hardly fewer than PATIENCE rounds ago.
            fewest.push_back(fewest.empty() ? shared : std::min(shared, fewest.back()));
            if (shared > nets / 8 && shared > 20 && round > PATIENCE &&
                fewest.back() * 4 > fewest[round - 1 - PATIENCE] * 3)
                return -round;
            // Sharing stays cheap against history: nets then leave contested nodes for good instead of trading
            // places (random netlists: 8 % less wire and a quarter shorter worst paths than without a bound).
            present = std::min(present + present / 3 + 1, 3 * PRESENT_UNIT);
        }
        return -rounds;
    }
};

}  // namespace

// Routes all nets; returns a handle for sardonyx_route_copy and sardonyx_route_free, null when memory is short.
// `report`: rounds as Router::run, number of tree nodes, unreachable sink or -1.
extern "C" void* sardonyx_route(int32_t nodes, const int32_t* fanout_ptr, const int32_t* fanout,
                                const int32_t* x, const int32_t* y, const uint8_t* is_hop, int32_t nets,
                                const int32_t* source, const int32_t* sink_ptr, const int32_t* sink,
                                int32_t rounds, int32_t latency, int64_t* report) {
    try {
        auto r = std::make_unique<Router>(nodes, nets, latency);
        r->fanout_ptr = fanout_ptr, r->fanout = fanout;
        r->x = x, r->y = y, r->is_hop = is_hop;
        r->source = source, r->sink_ptr = sink_ptr, r->sink = sink;
        r->prepare();
        report[0] = r->run(rounds);
        report[1] = 0;
        for (const Tree& tree : r->trees) report[1] += int64_t(tree.node.size());
        report[2] = r->lost;
        return r.release();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

// Copies the trees: tree_ptr[nets + 1]; node, previous and hops [report[1]] in order of growth; history [nodes].
extern "C" void sardonyx_route_copy(const void* handle, int32_t* tree_ptr, int32_t* node, int32_t* previous,
                                    int32_t* hops, int64_t* history) {
    const Router& r = *static_cast<const Router*>(handle);
    int at = 0;
    for (int net = 0; net < r.nets; net++) {
        const Tree& tree = r.trees[net];
        tree_ptr[net] = at;
        for (size_t i = 0; i < tree.node.size(); i++, at++)
            node[at] = tree.node[i], previous[at] = tree.previous[i], hops[at] = tree.hops[i];
    }
    tree_ptr[r.nets] = at;
    std::copy(r.history.begin(), r.history.end(), history);
}

extern "C" void sardonyx_route_free(void* handle) { delete static_cast<Router*>(handle); }
