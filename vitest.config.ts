import { defineConfig } from "vitest/config"

const conditions = ["@sealgate/source", "node", "import", "default"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    // Most tests wait for sockets and databases more than they compute.
    maxWorkers: 4,
  },
})
