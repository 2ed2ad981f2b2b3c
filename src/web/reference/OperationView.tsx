import { useContext, useMemo, useState } from "preact/hooks"
import { baseUrl } from "../shared/render.tsx"
import { Fold } from "./Fold.tsx"
import type { Language } from "./languages.ts"
import type { Operation, Parameter, ResponseObject } from "./openApi.ts"
import { Prose, Words } from "./Prose.tsx"
import { firstDraft, needsToken, requestOf } from "./request.ts"
import { Samples } from "./Samples.tsx"
import { SchemasContext } from "./SchemasContext.ts"
import { SchemaView, TypeLine } from "./SchemaView.tsx"
import { TryIt } from "./TryIt.tsx"

const Parameters = ({ parameters }: { readonly parameters: ReadonlyArray<Parameter> }) => (
  <section class="stack tight">
    <h4>Parameters</h4>
    <ul class="members">
      {parameters.map(({ description, in: place, name, required, schema = {} }) => (
        <li key={`${place} ${name}`}>
          <TypeLine name={name} place={`in the ${place}`} schema={schema} required={required} />
          {description !== undefined && <Prose text={description} />}
        </li>
      ))}
    </ul>
  </section>
)

const Body = ({ body }: { readonly body: NonNullable<Operation["requestBody"]> }) => (
  <section class="stack tight">
    <h4>Body</h4>
    {Object.entries(body.content).map(([type, { schema = {} }]) => (
      <div key={type} class="stack tight">
        <p class="small muted">{type}</p>
        <SchemaView schema={schema} />
      </div>
    ))}
  </section>
)

const Response = ({ response, status }: { readonly status: string; readonly response: ResponseObject }) => {
  const { content = {}, description = "", headers = {} } = response
  const summary = (
    <>
      <span class={`badge ${status.startsWith("2") ? "good" : ""}`}>{status}</span>{" "}
      <span class="said">
        <Words text={description} />
      </span>
    </>
  )
  if (Object.keys(content).length === 0) return <p class="bodyless">{summary}</p>
  return (
    <Fold summary={summary}>
      {() => (
        <>
          <ul class="members">
            {Object.entries(headers).map(([name, { description, schema = {} }]) => (
              <li key={name}>
                <TypeLine name={name} place="in the header" schema={schema} />
                {description !== undefined && <Prose text={description} />}
              </li>
            ))}
          </ul>
          {Object.entries(content).map(([type, { example, schema = {} }]) => (
            <div key={type} class="stack tight">
              <p class="small muted">{type}</p>
              <SchemaView schema={schema} />
              {example !== undefined && <pre class="sample">{JSON.stringify(example, undefined, 2)}</pre>}
            </div>
          ))}
        </>
      )}
    </Fold>
  )
}

interface OperationViewProps {
  readonly operation: Operation
  readonly token: string
  readonly language: Language
  readonly onLanguage: (language: Language) => void
}

export const OperationView = ({ language, onLanguage, operation, token }: OperationViewProps) => {
  const { description, method, operationId, parameters = [], path, requestBody, responses, summary } = operation
  const schemas = useContext(SchemasContext)
  const [draft, setDraft] = useState(() => firstDraft(operation, schemas))
  const request = useMemo(() => requestOf(operation, draft, baseUrl()), [operation, draft])
  return (
    <article id={operationId} class="card operation" aria-labelledby={`${operationId}-title`}>
      <header class="stack tight">
        <h3 id={`${operationId}-title`}>
          <a href={`#${operationId}`}>{summary ?? operationId}</a>
        </h3>
        <p class="row tight">
          <span class="badge method">{method}</span>
          <code class="path">{path}</code>
          {needsToken(operation) && <span class="small muted push">needs a token</span>}
        </p>
      </header>
      <div class="stack">
        {description !== undefined && <Prose text={description} />}
        {parameters.length > 0 && <Parameters parameters={parameters} />}
        {requestBody !== undefined && <Body body={requestBody} />}
        <section class="stack tight">
          <h4>Responses</h4>
          <ul class="responses">
            {Object.entries(responses).map(([status, response]) => (
              <li key={status}>
                <Response status={status} response={response} />
              </li>
            ))}
          </ul>
        </section>
      </div>
      <div class="stack">
        <Samples operation={operation} request={request} language={language} onLanguage={onLanguage} />
        {(method === "GET" || method === "POST") && (
          <Fold summary="Try it">
            {() => <TryIt operation={operation} draft={draft} onDraft={setDraft} request={request} token={token} />}
          </Fold>
        )}
      </div>
    </article>
  )
}
