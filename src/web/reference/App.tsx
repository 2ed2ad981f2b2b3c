import { useLayoutEffect, useMemo, useState } from "preact/hooks"
import { Bar } from "../shared/render.tsx"
import { tokenIn } from "../shared/tokenIn.ts"
import { Contents } from "./Contents.tsx"
import type { Language } from "./languages.ts"
import { type Document, filterGroups, groupsOf } from "./openApi.ts"
import { OperationView } from "./OperationView.tsx"
import { Prose } from "./Prose.tsx"
import { SchemasContext } from "./SchemasContext.ts"
import { useDescription } from "./useDescription.ts"

const Token = ({ onToken }: { readonly onToken: (token: string) => void }) => (
  <form class="card stack tight" aria-labelledby="token-title" onSubmit={(event) => event.preventDefault()}>
    <h2 id="token-title">Authorization</h2>
    <div class="field">
      <label for="token">Bearer token</label>
      <input
        id="token"
        type="password"
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        aria-describedby="token-hint"
        onInput={({ currentTarget: { value } }) => onToken(tokenIn(value))}
      />
      <p id="token-hint" class="small muted">
        For what you try here. It stays in this page's memory, is sent only where an operation needs it, and is gone
        when the page is.
      </p>
    </div>
  </form>
)

const Reference = ({ document: { components, info, ...document } }: { readonly document: Document }) => {
  const [filter, setFilter] = useState("")
  const [token, setToken] = useState("")
  const [language, setLanguage] = useState<Language>("curl")
  const all = useMemo(() => groupsOf({ ...document, components, info }), [document])
  const groups = filterGroups(all, filter)

  // What the address names is on the page only now.
  useLayoutEffect(() => {
    globalThis.document.title = `${info.title}: API`
    if (location.hash.length > 1) globalThis.document.getElementById(location.hash.slice(1))?.scrollIntoView()
  }, [])

  return (
    <SchemasContext.Provider value={components.schemas}>
      <div class="reference">
        <Contents groups={groups} filter={filter} onFilter={setFilter} />
        <main id="main" class="stack" tabIndex={-1}>
          <div class="stack tight">
            {info.description !== undefined && <Prose text={info.description} />}
            <p class="small muted">
              Drawn from <a href="openapi.json">openapi.json</a>, version {info.version}, which generators of clients
              read.
            </p>
          </div>
          {Object.keys(components.securitySchemes).length > 0 && <Token onToken={setToken} />}
          {groups.map(({ name, operations }) => (
            <section key={name} class="stack" aria-label={name}>
              <h2>{name}</h2>
              {operations.map((operation) => (
                <OperationView
                  key={operation.operationId}
                  operation={operation}
                  token={token}
                  language={language}
                  onLanguage={setLanguage}
                />
              ))}
            </section>
          ))}
          {groups.length === 0 && <p class="muted">No operation has all of these words.</p>}
        </main>
      </div>
    </SchemasContext.Provider>
  )
}

export const App = () => {
  const { description, reload } = useDescription()
  const document = description !== undefined && "document" in description ? description.document : undefined
  return (
    <>
      <Bar title={`${document?.info.title ?? "sealgate"}: API`} />
      {document !== undefined && <Reference document={document} />}
      {document === undefined && (
        <main id="main" class="stack" tabIndex={-1}>
          {description !== undefined && "failure" in description ? (
            <div class="note bad" role="alert">
              <p>
                <strong>The description of the API could not be read.</strong> {description.failure}
              </p>
              <p>
                <button type="button" onClick={reload}>
                  Try again
                </button>
              </p>
            </div>
          ) : (
            <p class="muted">Loading the description of the API…</p>
          )}
        </main>
      )}
    </>
  )
}
