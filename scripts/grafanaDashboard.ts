/** `node scripts/grafanaDashboard.ts`: writes the Grafana dashboard, deploy/grafana-dashboard.json. */
import { writeFileSync } from "node:fs"
import { dashboard } from "./dashboard/dashboard.ts"

writeFileSync("deploy/grafana-dashboard.json", dashboard())
