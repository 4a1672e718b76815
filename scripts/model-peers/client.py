"""The official SDKs for Python as clients of a server: prints what they saw as JSON."""

import json
import sys

package, url, key = sys.argv[1:4]
wire = sys.argv[4] if len(sys.argv) > 4 else ""
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def status_of(work):
    """The status of the error that `work` ends with."""
    try:
        work()
        return 200
    except Exception as error:  # noqa: BLE001
        return getattr(error, "status_code", repr(error))


def breaks_off(work):
    try:
        work()
        return False
    except Exception:  # noqa: BLE001
        return True


def anthropic():
    from anthropic import Anthropic

    client = Anthropic(base_url=url, api_key=key, max_retries=3)
    base = {"model": "claude-opus-4-6", "max_tokens": 500}
    tools = [{"name": "get_weather", "description": "The weather.", "input_schema": SCHEMA}]

    def ask(content, **more):
        return {**base, "messages": [{"role": "user", "content": content}], **more}

    def text_of(message):
        return "".join(block.text for block in message.content if block.type == "text")

    def final(**body):
        with client.messages.stream(**body) as stream:
            return stream.get_final_message()

    with client.messages.stream(**ask("hello")) as stream:
        streamed = "".join(stream.text_stream)
    called = final(**ask("weather?", tools=tools))
    call = next(block for block in called.content if block.type == "tool_use")
    # As the API gave it, without what the SDK adds.
    fields = {
        "text": ["type", "text"],
        "thinking": ["type", "thinking", "signature"],
        "tool_use": ["type", "id", "name", "input"],
    }
    content = [{name: getattr(block, name) for name in fields[block.type]} for block in called.content]
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "-3 degrees"}
    messages = [
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": [result]},
    ]
    orphan = {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {}}
    orphans = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [orphan]},
        {"role": "user", "content": "and?"},
    ]
    wrong = Anthropic(base_url=url, api_key="no", max_retries=0)
    return {
        "stream_text": streamed,
        "whole_text": text_of(client.messages.create(**ask("hello"))),
        "call": {"name": call.name, "arguments": call.input},
        "usage": [called.usage.input_tokens + called.usage.cache_read_input_tokens, called.usage.output_tokens],
        "after_tool": text_of(client.messages.create(**base, tools=tools, messages=messages)),
        "after_busy": text_of(client.messages.create(**ask("busy"))),
        "broken_off": breaks_off(lambda: final(**ask("overloaded"))),
        "orphan": status_of(lambda: client.messages.create(**base, tools=tools, messages=orphans)),
        "wrong_key": status_of(lambda: wrong.messages.create(**ask("x"))),
    }


def responses():
    from openai import OpenAI

    client = OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=3)
    base = {"model": "gpt-5.1", "store": False, "include": ["reasoning.encrypted_content"]}
    tools = [
        {"type": "function", "name": "get_weather", "description": "The weather.", "parameters": SCHEMA, "strict": False}
    ]

    def final(**body):
        with client.responses.stream(**base, **body) as stream:
            return stream.get_final_response()

    streamed = "".join(
        event.delta
        for event in client.responses.create(**base, input="hello", stream=True)
        if event.type == "response.output_text.delta"
    )
    # The stream as it is: the helper adds what it parsed.
    called = None
    for event in client.responses.create(**base, input="weather?", tools=tools, stream=True):
        if event.type == "response.completed":
            called = event.response
    call = next(item for item in called.output if item.type == "function_call")
    items = [item.model_dump(exclude_unset=True) for item in called.output]
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "-3 degrees"}
    after = client.responses.create(
        **base, tools=tools, input=[{"role": "user", "content": "weather?"}, *items, output]
    )
    wrong = OpenAI(base_url=f"{url}/v1", api_key="no", max_retries=0)
    return {
        "stream_text": streamed,
        "whole_text": final(input="hello").output_text,
        "call": {"name": call.name, "arguments": json.loads(call.arguments)},
        "usage": [called.usage.input_tokens, called.usage.output_tokens],
        "after_tool": after.output_text,
        "after_busy": client.responses.create(**base, input="busy").output_text,
        "broken_off": breaks_off(lambda: final(input="overloaded")),
        "orphan": status_of(lambda: client.responses.create(**base, input=[output])),
        "wrong_key": status_of(lambda: wrong.responses.create(**base, input="x")),
    }


def chat():
    from openai import OpenAI

    client = OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=3)
    base = {"model": "gpt-5.1"}
    function = {"name": "get_weather", "description": "The weather.", "parameters": SCHEMA}
    tools = [{"type": "function", "function": function}]

    def ask(content):
        return {**base, "messages": [{"role": "user", "content": content}]}

    def text_of(completion):
        return completion.choices[0].message.content

    def final(**body):
        with client.chat.completions.stream(**body, stream_options={"include_usage": True}) as stream:
            stream.until_done()
            return stream.get_final_completion()

    streamed = ""
    for chunk in client.chat.completions.create(**ask("hello"), stream=True):
        if chunk.choices and chunk.choices[0].delta.content:
            streamed += chunk.choices[0].delta.content
    called = final(**ask("weather?"), tools=tools)
    call = called.choices[0].message.tool_calls[0]
    asked = {"name": call.function.name, "arguments": call.function.arguments}
    answer = {
        "role": "assistant",
        "content": called.choices[0].message.content,
        "tool_calls": [{"id": call.id, "type": "function", "function": asked}],
    }
    output = {"role": "tool", "tool_call_id": call.id, "content": "-3 degrees"}
    messages = [{"role": "user", "content": "weather?"}, answer, output]
    wrong = OpenAI(base_url=f"{url}/v1", api_key="no", max_retries=0)
    return {
        "stream_text": streamed,
        "whole_text": text_of(client.chat.completions.create(**ask("hello"))),
        "call": {"name": asked["name"], "arguments": json.loads(asked["arguments"])},
        "usage": [called.usage.prompt_tokens, called.usage.completion_tokens],
        "after_tool": text_of(client.chat.completions.create(**base, tools=tools, messages=messages)),
        "after_busy": text_of(client.chat.completions.create(**ask("busy"))),
        "broken_off": breaks_off(lambda: final(**ask("overloaded"))),
        "orphan": status_of(lambda: client.chat.completions.create(**base, messages=[answer])),
        "wrong_key": status_of(lambda: wrong.chat.completions.create(**ask("x"))),
    }


run = anthropic if package == "anthropic" else chat if wire == "chat" else responses
print(json.dumps(run()))
