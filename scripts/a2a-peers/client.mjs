// The official A2A client for JavaScript, going through what the protocol offers.
//
//   node client.mjs URL BINDING [TOKEN]
//
// Prints one JSON object: what each step saw, without ids and times, so that two agents can be compared.

import { randomUUID } from "node:crypto";
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import { Role, SendMessageRequest, TaskState, taskStateToJSON } from "@a2a-js/sdk";

const [url, binding, token] = process.argv.slice(2);
const seen = {};

const fetchAs = (input, init = {}) => {
  const headers = new Headers(init.headers);
  if (token) headers.set("authorization", `Bearer ${token}`);
  return fetch(input, { ...init, headers });
};

const name = (state) => taskStateToJSON(state).replace("TASK_STATE_", "").toLowerCase();
const textOf = (holder) => (holder?.parts ?? []).map((part) => textOfPart(part)).join("");
const textOfPart = (part) => (part.content?.$case === "text" ? part.content.value : "");

const ask = (text, { task, configuration } = {}) =>
  SendMessageRequest.fromJSON({
    message: {
      messageId: randomUUID(),
      role: "ROLE_USER",
      parts: [{ text }],
      ...(task ? { taskId: task.id, contextId: task.contextId } : {}),
    },
    ...(configuration ? { configuration } : {}),
  });

const picture = (task) => ({
  state: name(task.status.state),
  said: task.status.message ? textOf(task.status.message) : null,
  artifacts: task.artifacts.map(textOf),
  userSaid: task.history.filter((message) => message.role === Role.ROLE_USER).map(textOf),
});

const errorOf = async (work) => {
  try {
    await work();
    return null;
  } catch (error) {
    return error.constructor.name;
  }
};

async function stream(events) {
  const kinds = [];
  let [text, state, id] = ["", null, null];
  for await (const { payload } of events) {
    kinds.push(payload.$case);
    const value = payload.value;
    if (payload.$case === "task") {
      [state, id, text] = [value.status.state, value.id, value.artifacts.map(textOf).join("")];
    } else if (payload.$case === "statusUpdate") {
      state = value.status.state;
    } else if (payload.$case === "artifactUpdate") {
      text = value.append ? text + textOf(value.artifact) : textOf(value.artifact);
    } else {
      text = textOf(value);
    }
  }
  return [{ first: kinds[0], state: state === null ? null : name(state), text }, id];
}

async function first(events) {
  for await (const event of events) return event.payload;
}

async function untilFinal(client, id) {
  for (let tries = 0; tries < 400; tries += 1) {
    const task = await client.getTask({ id, tenant: "" });
    if (![TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING].includes(task.status.state)) return task;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`the task ${id} does not end`);
}

const options = { fetchImpl: fetchAs };
const factory = new ClientFactory({
  transports: [binding === "JSONRPC" ? new JsonRpcTransportFactory(options) : new RestTransportFactory(options)],
  cardResolver: new DefaultAgentCardResolver(options),
});
// Relative to its base, so that the base must be a folder.
const client = await factory.createFromUrl(`${url.replace(/\/$/, "")}/`);

const isMessage = (answer) => "messageId" in answer;
seen.echo = picture(await client.sendMessage(ask("hello")));
const message = await client.sendMessage(ask("message hi there"));
seen.message = [isMessage(message), textOf(message)];
seen.fail = picture(await client.sendMessage(ask("fail")));
seen.reject = picture(await client.sendMessage(ask("reject")));
const begun = await client.sendMessage(ask("hello later", { configuration: { returnImmediately: true } }));
seen.later = picture(await untilFinal(client, begun.id));
const waiting = await client.sendMessage(ask("ask"));
const again = await client.sendMessage(ask("the left one", { task: waiting }));
seen.question = [picture(waiting), picture(again), waiting.id === again.id];
const listed = await client.listTasks({ contextId: waiting.contextId, tenant: "", pageToken: "", status: 0 });
seen.list = [listed.totalSize, listed.tasks.length];

[seen.streamEcho] = await stream(client.sendMessageStream(ask("hello")));
[seen.streamMessage] = await stream(client.sendMessageStream(ask("message hi")));
const [streamed, asked] = await stream(client.sendMessageStream(ask("ask")));
seen.streamAsk = streamed;
const resubscribed = await first(client.resubscribeTask({ id: asked, tenant: "" }));
seen.subscribeWaiting = [resubscribed.$case, name(resubscribed.value.status.state)];

const opened = await first(client.sendMessageStream(ask("wait")));
const cancelled = await client.cancelTask({ id: opened.value.id, tenant: "" });
seen.cancel = name(cancelled.status.state);
seen.errors = {
  cancelAgain: await errorOf(() => client.cancelTask({ id: opened.value.id, tenant: "" })),
  unknown: await errorOf(() => client.getTask({ id: randomUUID(), tenant: "" })),
  subscribeFinal: await errorOf(() => first(client.resubscribeTask({ id: again.id, tenant: "" }))),
};

const config = { taskId: asked, id: "mine", url: "https://93.184.216.34/hook", token: "", tenant: "" };
const made = await client.createTaskPushNotificationConfig(config);
const got = await client.getTaskPushNotificationConfig({ taskId: asked, id: "mine", tenant: "" });
const many = await client.listTaskPushNotificationConfig({ taskId: asked, tenant: "", pageSize: 0, pageToken: "" });
await client.deleteTaskPushNotificationConfig({ taskId: asked, id: "mine", tenant: "" });
const none = await client.listTaskPushNotificationConfig({ taskId: asked, tenant: "", pageSize: 0, pageToken: "" });
seen.push = [made.id, made.url, got.url, many.configs.length, none.configs.length];

console.log(JSON.stringify(seen, null, 1));
