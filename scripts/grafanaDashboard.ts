/** `node scripts/grafanaDashboard.ts`: writes the Grafana dashboard, docs/deploy/grafana-dashboard.json. */
import { writeFileSync } from "node:fs"
import { dashboard } from "./dashboard/dashboard.ts"

writeFileSync("docs/deploy/grafana-dashboard.json", dashboard())
