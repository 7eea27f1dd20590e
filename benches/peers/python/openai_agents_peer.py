"""openai-agents: agent with 3 tools over chat completions. Same modes as the Rust programs."""
import asyncio, json, sys, time, resource, os
def rss(): return int([l for l in open("/proc/self/status") if l.startswith("VmRSS")][0].split()[1])
from agents import Agent, Runner, OpenAIChatCompletionsModel, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
set_tracing_disabled(True)
mode = sys.argv[1]; base = sys.argv[2] if len(sys.argv) > 2 else ""; n = [int(x) for x in sys.argv[3:]]
@function_tool
def get_weather(city: str, days: int, metric: bool) -> str:
    "Get the weather"
    return f"{city}: {days} days, metric={metric}"
@function_tool
def search_docs(query: str, limit: int, lang: str) -> str:
    "Search documents"
    return f"{limit} hits for {query} in {lang}"
@function_tool
def add3(a: float, b: float, c: float) -> float:
    "Add three numbers"
    return a + b + c
def make(model):
    return Agent(name="a", instructions="You are a helpful agent.", model=OpenAIChatCompletionsModel(model, AsyncOpenAI(base_url=base, api_key="k")), tools=[get_weather, search_docs, add3])
async def run(a): return (await Runner.run(a, "What is the weather in Oslo?", max_turns=100)).final_output
async def stream(a):
    k = 0
    async for e in Runner.run_streamed(a, "Write.").stream_events(): k += 1
    return k
def rep(what, v):
    v = sorted(v); q = lambda p: v[int((len(v)-1)*p)]
    print(json.dumps(dict(what=what, median=q(.5), p10=q(.1), p90=q(.9), min=v[0])))
async def main():
    if mode == "once": print(await run(make(f"mock-t{n[0]}")))
    elif mode == "idle": a = make("mock-t1"); print("ready", flush=True); await asyncio.sleep(3600)
    elif mode == "turns":
        a = make(f"mock-t{n[0]}"); [await run(a) for _ in range(3)]; v = []; w = []
        for _ in range(n[1]): t = time.perf_counter(); c = time.process_time(); await run(a); w.append((time.process_time()-c)*1e6); v.append((time.perf_counter()-t)*1e6)
        rep("turn_cpu_us", w); rep("turn_us", v)
    elif mode == "call":
        from agents.tool_context import ToolContext
        v = []
        J = '{"city":"Oslo","days":3,"metric":true}'
        for _ in range(30):
            t0 = time.perf_counter()
            for _ in range(300): await get_weather.on_invoke_tool(ToolContext(context=None, tool_name="get_weather", tool_call_id="1", tool_arguments=J), J)
            v.append((time.perf_counter()-t0)/300*1e9)
        rep("call_ns", v)
    elif mode == "sessions":
        a = make(f"mock-t{n[2]}"); it = iter(range(n[1])); t = time.perf_counter(); c = time.process_time()
        async def w():
            for _ in it: await run(a)
        await asyncio.gather(*[w() for _ in range(n[0])])
        print(json.dumps(dict(what=f"sessions_{n[0]}", per_second=n[1]/(time.perf_counter()-t), cpu_us=(time.process_time()-c)/n[1]*1e6, most_kb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)))
    elif mode == "streams":
        a = make("mock-t0-c5"); await stream(a); b = rss(); a = make("mock-t0-c40-d100"); ts = [asyncio.create_task(stream(a)) for _ in range(n[0])]
        await asyncio.sleep(2.5); m = rss(); got = await asyncio.gather(*ts, return_exceptions=True)
        print(json.dumps(dict(what=f"streams_{n[0]}", before_kb=b, during_kb=m, kb_each=(m-b)/n[0], most_kb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, failed=sum(isinstance(g, BaseException) for g in got))))
asyncio.run(main())
