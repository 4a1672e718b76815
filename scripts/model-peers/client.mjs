// The official SDKs for JavaScript as clients of a server: prints what they saw as JSON.
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'

const [packageName, url, key, wire] = process.argv.slice(2)
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

/** The status of the error that `work` ends with. */
async function statusOf(work) {
  try {
    await work()
    return 200
  } catch (error) {
    return error.status
  }
}

async function breaksOff(work) {
  try {
    await work()
    return false
  } catch {
    return true
  }
}

async function anthropic() {
  const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 3 })
  const base = { model: 'claude-opus-4-6', max_tokens: 500 }
  const tools = [{ name: 'get_weather', description: 'The weather.', input_schema: schema }]
  const ask = (content, more = {}) => ({ ...base, messages: [{ role: 'user', content }], ...more })
  const textOf = (message) => message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('')
  let streamed = ''
  const stream = client.messages.stream(ask('hello')).on('text', (text) => (streamed += text))
  await stream.finalMessage()
  const called = await client.messages.stream(ask('weather?', { tools })).finalMessage()
  const call = called.content.find((block) => block.type === 'tool_use')
  const after = await client.messages.create({
    ...base,
    tools,
    messages: [
      { role: 'user', content: 'weather?' },
      { role: 'assistant', content: called.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: '-3 degrees' }] },
    ],
  })
  return {
    stream_text: streamed,
    whole_text: textOf(await client.messages.create(ask('hello'))),
    call: { name: call.name, arguments: call.input },
    usage: [called.usage.input_tokens + called.usage.cache_read_input_tokens, called.usage.output_tokens],
    after_tool: textOf(after),
    after_busy: textOf(await client.messages.create(ask('busy'))),
    broken_off: await breaksOff(() => client.messages.stream(ask('overloaded')).finalMessage()),
    orphan: await statusOf(() =>
      client.messages.create({
        ...base,
        tools,
        messages: [
          { role: 'user', content: 'x' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'get_weather', input: {} }] },
          { role: 'user', content: 'and?' },
        ],
      }),
    ),
    wrong_key: await statusOf(() => new Anthropic({ baseURL: url, apiKey: 'no', maxRetries: 0 }).messages.create(ask('x'))),
  }
}

async function responses() {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 3 })
  const base = { model: 'gpt-5.1', store: false, include: ['reasoning.encrypted_content'] }
  const tools = [{ type: 'function', name: 'get_weather', description: 'The weather.', parameters: schema, strict: false }]
  let streamed = ''
  for await (const event of await client.responses.create({ ...base, input: 'hello', stream: true })) {
    if (event.type === 'response.output_text.delta') streamed += event.delta
  }
  const called = await client.responses.stream({ ...base, input: 'weather?', tools }).finalResponse()
  const call = called.output.find((item) => item.type === 'function_call')
  // The SDK adds what it parsed; the API takes what it gave.
  const items = called.output.map(({ parsed_arguments, ...item }) => item)
  for (const item of items) for (const part of item.content ?? []) delete part.parsed
  const output = { type: 'function_call_output', call_id: call.call_id, output: '-3 degrees' }
  const input = [{ role: 'user', content: 'weather?' }, ...items, output]
  const after = await client.responses.create({ ...base, tools, input })
  return {
    stream_text: streamed,
    whole_text: (await client.responses.create({ ...base, input: 'hello' })).output_text,
    call: { name: call.name, arguments: JSON.parse(call.arguments) },
    usage: [called.usage.input_tokens, called.usage.output_tokens],
    after_tool: after.output_text,
    after_busy: (await client.responses.create({ ...base, input: 'busy' })).output_text,
    broken_off: await breaksOff(() => client.responses.stream({ ...base, input: 'overloaded' }).finalResponse()),
    orphan: await statusOf(() => client.responses.create({ ...base, input: [output] })),
    wrong_key: await statusOf(() =>
      new OpenAI({ baseURL: `${url}/v1`, apiKey: 'no', maxRetries: 0 }).responses.create({ ...base, input: 'x' }),
    ),
  }
}

async function chat() {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 3 })
  const base = { model: 'gpt-5.1' }
  const tools = [{ type: 'function', function: { name: 'get_weather', description: 'The weather.', parameters: schema } }]
  const ask = (content) => ({ ...base, messages: [{ role: 'user', content }] })
  const textOf = (completion) => completion.choices[0].message.content
  const stream = (body) => client.chat.completions.stream({ ...body, stream_options: { include_usage: true } })
  let streamed = ''
  const first = stream(ask('hello')).on('content', (text) => (streamed += text))
  await first.finalChatCompletion()
  const called = await stream({ ...ask('weather?'), tools }).finalChatCompletion()
  const call = called.choices[0].message.tool_calls[0]
  const { id, type } = call
  const asked = { name: call.function.name, arguments: call.function.arguments }
  const answer = { role: 'assistant', content: called.choices[0].message.content, tool_calls: [{ id, type, function: asked }] }
  const output = { role: 'tool', tool_call_id: id, content: '-3 degrees' }
  const messages = [{ role: 'user', content: 'weather?' }, answer, output]
  return {
    stream_text: streamed,
    whole_text: textOf(await client.chat.completions.create(ask('hello'))),
    call: { name: asked.name, arguments: JSON.parse(asked.arguments) },
    usage: [called.usage.prompt_tokens, called.usage.completion_tokens],
    after_tool: textOf(await client.chat.completions.create({ ...base, tools, messages })),
    after_busy: textOf(await client.chat.completions.create(ask('busy'))),
    broken_off: await breaksOff(() => stream(ask('overloaded')).finalChatCompletion()),
    orphan: await statusOf(() => client.chat.completions.create({ ...base, messages: [answer] })),
    wrong_key: await statusOf(() =>
      new OpenAI({ baseURL: `${url}/v1`, apiKey: 'no', maxRetries: 0 }).chat.completions.create(ask('x')),
    ),
  }
}

const run = packageName === 'anthropic' ? anthropic : wire === 'chat' ? chat : responses
console.log(JSON.stringify(await run()))
