import { defineConfig } from "vitest/config"

const conditions = ["@sealgate/source", "node", "import", "default"]

const BROWSER = ["test/web/*.test.ts"]
const KITS = ["test/conformance/**/*.test.ts"]
const SNIPPETS = ["test/docs/snippets.test.ts"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    // Dropping the schemas of a run takes a busy Postgres a while.
    teardownTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: "tests",
          include: ["test/**/*.test.ts"],
          exclude: [...BROWSER, ...KITS, ...SNIPPETS],
          globalSetup: ["test/support/builds.ts", "test/support/schemas.ts"],
          // Only end tests that hang: a busy machine may take a minute to start a few programs or to prepare a database.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // Most tests wait for sockets and databases more than they compute.
          maxWorkers: 6,
          // Modules keep no state that a test could trip over, and loading them for each file would take a third of the time.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          // Browsers take more of the machine than everything else together.
          name: "browser",
          include: BROWSER,
          globalSetup: ["test/support/builds.ts"],
          testTimeout: 60_000,
          maxWorkers: 2,
        },
      },
      {
        extends: true,
        test: {
          // Our server and clients, and more than a hundred copies with one mistake each.
          name: "kits",
          include: KITS,
          globalSetup: ["test/support/builds.ts"],
          testTimeout: 120_000,
          maxWorkers: 2,
        },
      },
      {
        extends: true,
        test: {
          // Every command and program of the documentation, most of them processes.
          name: "snippets",
          include: SNIPPETS,
          globalSetup: ["test/support/builds.ts"],
          testTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          // Deployments of several processes under load: minutes each, and one at a time because they fill the machine.
          name: "proofs",
          include: ["test/proofs/**/*.proof.ts"],
          globalSetup: ["test/support/builds.ts"],
          testTimeout: 600_000,
          hookTimeout: 120_000,
          maxWorkers: 1,
          fileParallelism: false,
        },
      },
    ],
  },
})
