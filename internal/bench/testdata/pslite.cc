// A role of a job of ps-lite that pulls rows and pushes gradients to them, started by fleetrun with one server, whose process has the
// scheduler beside it.
//
//   pslite vector|map waited|pipelined IDS HEIGHT DIM STEPS
//
// A worker prints what one of fleet's processes_timing_test.go prints, on three lines, since fleetrun cuts those beyond
// 64 KiB. It ends with 1 unless rows have what all workers' pushes make of them.
#include <ps/ps.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <set>
#include <unordered_map>

using Keys = std::vector<ps::Key>;
static const int kBatches = 16;
static const float kRate = 0.01f, kGradient = 1e-3f;
static int64_t height, steps;
static size_t ids, dim;

static int64_t Now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// Sorted unique ids to cycle through, as drawn for a worker.
static std::vector<Keys> Batches(int worker) {
  std::mt19937_64 random(worker + 1);
  std::vector<Keys> all(kBatches);
  for (auto& keys : all) {
    std::set<ps::Key> drawn;
    while (drawn.size() < ids) drawn.insert(random() % height);
    keys.assign(drawn.begin(), drawn.end());
  }
  return all;
}

// How often step i of a run with warm-up takes batch b.
static int64_t Times(int b) {
  int64_t n = 2;
  for (int64_t i = b; i < steps; i += kBatches) n++;
  return n;
}

struct Table {
  bool flat;
  std::vector<float> vector;
  std::unordered_map<ps::Key, std::vector<float>> map;
  float* Row(ps::Key key) {
    if (flat) return vector.data() + key * dim;
    auto& row = map[key];
    if (row.empty()) row.resize(dim);
    return row.data();
  }
  void Answer(const ps::KVMeta& meta, const ps::KVPairs<float>& in, ps::KVServer<float>* server) {
    ps::KVPairs<float> out;
    if (meta.push) {
      for (size_t i = 0; i < in.keys.size(); i++) {
        float* row = Row(in.keys[i]);
        const float* g = in.vals.data() + i * dim;
        for (size_t j = 0; j < dim; j++) row[j] -= kRate * g[j];
      }
    } else {
      out.keys = in.keys;
      out.vals.resize(in.keys.size() * dim);
      for (size_t i = 0; i < in.keys.size(); i++) std::copy_n(Row(in.keys[i]), dim, out.vals.data() + i * dim);
    }
    server->Response(meta, out);
  }
};

// What all workers' pushes of every batch make of the rows of one.
static bool Arrived(const Keys& keys, const ps::SArray<float>& got) {
  std::unordered_map<ps::Key, int64_t> pushes;
  for (int w = 0; w < ps::NumWorkers(); w++) {
    auto all = Batches(w);
    for (int b = 0; b < kBatches; b++)
      for (auto key : all[b]) pushes[key] += Times(b);
  }
  for (size_t i = 0; i < keys.size(); i++) {
    double want = -double(kRate) * kGradient * pushes[keys[i]];
    for (size_t j = 0; j < dim; j++) {
      if (std::fabs(got[i * dim + j] - want) <= 1e-3 * std::fabs(want)) continue;
      fprintf(stderr, "row %llu has %g, want %g: pushes were lost\n", (unsigned long long)keys[i], got[i * dim + j], want);
      return false;
    }
  }
  return true;
}

static void Print(const char* name, const std::vector<int64_t>& times) {
  printf("{\"%s\":[", name);
  for (size_t i = 0; i < times.size(); i++) printf(i ? ",%lld" : "%lld", (long long)times[i]);
  printf("]}\n");
}

static bool Work(bool waited) {
  ps::KVWorker<float> kv(0, 0);
  std::vector<ps::SArray<ps::Key>> batches;
  auto own = Batches(ps::MyRank());
  for (auto& keys : own) batches.push_back(ps::SArray<ps::Key>(keys));
  ps::SArray<float> w(ids * dim, 0), g(ids * dim, kGradient);
  std::vector<int64_t> pulls, pushes;
  int open = -1;
  auto settle = [&] {
    if (open >= 0) kv.Wait(open);
    open = -1;
  };
  auto step = [&](int64_t i) {
    auto& keys = batches[i % kBatches];
    int64_t began = Now();
    kv.Wait(kv.ZPull(keys, &w));
    int64_t pulled = Now();
    settle();  // one push at a time is under way
    open = kv.ZPush(keys, g);
    if (waited) settle();
    pulls.push_back(pulled - began);
    pushes.push_back(Now() - pulled);
  };
  for (int64_t i = 0; i < 2 * kBatches; i++) step(i);
  settle();
  ps::Postoffice::Get()->Barrier(0, ps::kWorkerGroup);
  pulls.clear();
  pushes.clear();
  int64_t began = Now();
  for (int64_t i = 0; i < steps; i++) step(i);
  settle();
  int64_t took = Now() - began;
  ps::Postoffice::Get()->Barrier(0, ps::kWorkerGroup);
  kv.Wait(kv.ZPull(batches[0], &w));
  if (!Arrived(own[0], w)) return false;
  Print("Pulls", pulls);
  Print("Pushes", pushes);
  printf("{\"Took\":%lld}\n", (long long)took);
  return true;
}

int main(int argc, char** argv) {
  if (argc != 7) return fprintf(stderr, "want vector|map waited|pipelined IDS HEIGHT DIM STEPS\n"), 2;
  Table table;
  table.flat = std::string(argv[1]) == "vector";
  bool waited = std::string(argv[2]) == "waited", ok = true;
  ids = atoll(argv[3]), height = atoll(argv[4]), dim = atoll(argv[5]), steps = atoll(argv[6]);
  bool serves = std::string(getenv("TRAINING_ROLE")) == "PSERVER";
  pid_t scheduler = serves ? fork() : -1;
  std::string at = getenv("PADDLE_PSERVERS_IP_PORT_LIST");
  setenv("DMLC_ROLE", scheduler == 0 ? "scheduler" : serves ? "server" : "worker", 1);
  setenv("DMLC_NUM_SERVER", "1", 1);
  setenv("DMLC_NUM_WORKER", getenv("PADDLE_TRAINERS_NUM"), 1);
  setenv("DMLC_NODE_HOST", "127.0.0.1", 1);
  setenv("DMLC_PS_ROOT_URI", "127.0.0.1", 1);
  setenv("DMLC_PS_ROOT_PORT", at.substr(at.rfind(':') + 1).c_str(), 1);
  if (scheduler > 0 && table.flat) table.vector.resize(height * dim);
  ps::Start(0);
  ps::KVServer<float>* server = nullptr;
  if (ps::IsServer()) {
    server = new ps::KVServer<float>(0);
    server->set_request_handle([&](const ps::KVMeta& m, const ps::KVPairs<float>& d, ps::KVServer<float>* s) { table.Answer(m, d, s); });
  }
  if (ps::IsWorker()) ok = Work(waited);
  ps::Finalize(0, true);
  delete server;
  if (scheduler > 0) waitpid(scheduler, nullptr, 0);
  return ok ? 0 : 1;
}
