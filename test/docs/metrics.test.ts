/** Compares the metrics with their documentation, the dashboard and the alert rules. */
import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { dashboard } from "../../scripts/dashboard/dashboard.ts"
import { declarations } from "../../src/services/metrics.ts"

const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((path) => /\.tsx?$/.test(path) && path !== "services/metrics.ts")
  .map((path) => ({ path, text: readFileSync(`src/${path}`, "utf8") }))

const declared = new Map(declarations.map((declaration) => [declaration.name, declaration]))

/** Labels that Prometheus adds. */
const OUTSIDE = ["job", "instance"]

/** Prometheus's own metric of a scrape, of the jobs that are this product's. */
const UP = 'up{job=~"(.*/)?sealgate.*"}'

/** Returns the metric that a query names; throws if there is none. */
const metricOf = (name: string) => {
  const found = declared.get(name) ?? declared.get(name.replace(/_(?:bucket|sum|count)$/, ""))
  const isPart = found !== undefined && found.name !== name
  if (found === undefined || isPart !== (found.type === "histogram")) throw new Error(`no such metric: ${name}`)
  return found
}

/** Checks every metric and label of a query, and returns the metrics. */
const checkQuery = (query: string): ReadonlyArray<string> => {
  const metrics = [...query.matchAll(/\b(sealgate_\w+)(?:\{([^}]*)\})?/g)].map(([, name = "", matchers = ""]) => {
    const metric = metricOf(name)
    for (const [, label = ""] of matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)) {
      assert.include([...metric.labels, ...OUTSIDE], label, query)
    }
    return metric
  })
  const labels = new Set([...metrics.flatMap((metric) => metric.labels), ...OUTSIDE, "le"])
  for (const [, list = ""] of query.matchAll(/\bby \(([^)]*)\)/g)) {
    for (const label of list.split(", ")) assert.include([...labels], label, query)
  }
  assert.isTrue(metrics.length > 0 || query.includes(UP), query)
  return metrics.map(({ name }) => name)
}

describe("metrics", () => {
  it("are all declared in one file, and used", () => {
    const used = new Set<string>()
    for (const { path, text } of sources) {
      assert.notMatch(text, /Metric\.(?:counter|gauge|histogram|frequency|summary)\(/, path)
      for (const [, name = ""] of text.matchAll(/\b(?:counter|gauge|histogram)\("(\w+)"\)/g)) used.add(name)
    }
    assert.deepStrictEqual([...used].sort(), [...declared.keys()].sort())
  })

  it("follow Prometheus's naming, and initialize series with their labels", () => {
    for (const { initial = [], labels, name, type, unit } of declarations) {
      assert.strictEqual(name.endsWith("_total"), type === "counter", name)
      assert.strictEqual(/_seconds(?:_total)?$/.test(name), unit === "s", name)
      assert.strictEqual(/_bytes(?:_total)?$/.test(name), unit === "By", name)
      if (initial.length > 0) assert.strictEqual(type, "counter", name)
      for (const series of initial) assert.deepStrictEqual(Object.keys(series).sort(), [...labels].sort(), name)
    }
  })
})

const Dashboard = Schema.fromJsonString(
  Schema.Struct({
    panels: Schema.Array(
      Schema.Struct({
        id: Schema.Int,
        title: Schema.String,
        gridPos: Schema.Struct({ x: Schema.Int, y: Schema.Int, w: Schema.Int, h: Schema.Int }),
        targets: Schema.optionalKey(
          Schema.Array(Schema.Struct({ expr: Schema.String, legendFormat: Schema.optionalKey(Schema.String) })),
        ),
      }),
    ),
  }),
)

describe("deploy/grafana-dashboard.json", () => {
  const text = readFileSync("deploy/grafana-dashboard.json", "utf8")
  const { panels } = Schema.decodeSync(Dashboard)(text)
  const targets = panels.flatMap((panel) => panel.targets ?? [])

  it("equals the output of scripts/grafanaDashboard.ts", () => {
    assert.strictEqual(text, dashboard())
  })

  it("shows every metric and queries only existing ones", () => {
    const shown = new Set(targets.flatMap(({ expr }) => checkQuery(expr)))
    assert.deepStrictEqual([...shown].sort(), [...declared.keys()].sort())
  })

  it("names lines by labels that the query keeps", () => {
    for (const { expr, legendFormat = "" } of targets) {
      const kept = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(", "))
      for (const [, label = ""] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) assert.include(kept, label, expr)
    }
  })

  it("places panels without overlap", () => {
    const cells = new Set<string>()
    for (const { gridPos, title } of panels) {
      assert.isAtMost(gridPos.x + gridPos.w, 24, title)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          assert.isFalse(cells.has(`${x},${y}`), title)
          cells.add(`${x},${y}`)
        }
      }
    }
    assert.strictEqual(new Set(panels.map(({ id }) => id)).size, panels.length)
  })
})

describe("deploy/alerts.yml", () => {
  const text = readFileSync("deploy/alerts.yml", "utf8")
  const rules = text
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((rule) => ({
      name: /^\w+/.exec(rule)?.[0] ?? "",
      // On one line, or a folded block.
      expr: /^ {8}expr: (?:>-\n((?: {10}.*\n)+)|(.*)\n)/m.exec(rule)?.slice(1).join("") ?? "",
      rule,
    }))

  it("queries only existing metrics, and has a severity, a summary and what to do", () => {
    assert.isAbove(rules.length, 10)
    assert.strictEqual(new Set(rules.map(({ name }) => name)).size, rules.length)
    for (const { expr, name, rule } of rules) {
      checkQuery(expr)
      assert.match(rule, /severity: (?:page|ticket) /, name)
      assert.match(rule, /summary: \S/, name)
      assert.match(rule, /description: \S/, name)
      const kept = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(", "))
      for (const [, label = ""] of rule.matchAll(/\$labels\.(\w+)/g)) {
        assert.include(kept.length === 0 ? OUTSIDE : kept, label, name)
      }
    }
  })

  const ruleOf = (name: string) => {
    const found = rules.find((rule) => rule.name === name)
    assert.isDefined(found, name)
    return found
  }

  it("pages for one server that does not answer, and if none is scraped under the documented names", () => {
    const down = ruleOf("SealgateDown")
    assert.strictEqual(down.expr, `${UP} == 0`)
    assert.match(down.rule, /^ {8}for: 2m$/m)
    assert.match(down.rule, /severity: page /)
    assert.strictEqual(ruleOf("SealgateGone").expr, `absent(sealgate_ready) or absent(${UP})`)
    assert.include(readFileSync("docs/reference/metrics.md", "utf8"), "`sealgate-gateway`")
    const jobs = [...text.matchAll(/job=~"([^"]+)"/g)].map(([, pattern]) => new RegExp(`^(?:${pattern})$`))
    for (const job of jobs) {
      // As a PodMonitor names it by default: after its namespace.
      for (const name of ["sealgate-proxy", "sealgate-gateway", "monitoring/sealgate-gateway"]) assert.match(name, job)
      assert.notMatch("monitoring/nginx", job)
    }
  })

  it("speaks of memory before a pod of deploy/kubernetes is killed for it", () => {
    const threshold = Number(/kind="rss"\} > (\S+)$/.exec(ruleOf("SealgateMemory").expr)?.[1])
    for (const server of ["proxy", "gateway"]) {
      const manifest = readFileSync(`deploy/kubernetes/${server}.yaml`, "utf8")
      const gibibytes = Number(/limits: \{ memory: (\d+)Gi \}/.exec(manifest)?.[1])
      assert.isBelow(threshold, 0.8 * gibibytes * 2 ** 30, server)
    }
  })

  it("counts a provider that is being probed as failing, so that a probe does not end the alert", () => {
    const circuits = rules.filter(({ expr }) => expr.includes("sealgate_upstream_circuit_state"))
    assert.strictEqual(circuits.length, 2)
    for (const { expr, name } of circuits) assert.match(expr, /sealgate_upstream_circuit_state\)? >= 1/, name)
  })
})
