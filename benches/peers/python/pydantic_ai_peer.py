"""pydantic-ai: agent with 3 tools. Same modes as the Rust programs."""
import asyncio, json, sys, time, resource, os
def rss(): return int([l for l in open("/proc/self/status") if l.startswith("VmRSS")][0].split()[1])
from pydantic_ai import Agent, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
mode = sys.argv[1]; base = sys.argv[2] if len(sys.argv) > 2 else ""; n = [int(x) for x in sys.argv[3:]]
def make(model):
    a = Agent(OpenAIChatModel(model, provider=OpenAIProvider(base_url=base, api_key="k")), system_prompt="You are a helpful agent.")
    @a.tool_plain
    def get_weather(city: str, days: int, metric: bool) -> str:
        "Get the weather"
        return f"{city}: {days} days, metric={metric}"
    @a.tool_plain
    def search_docs(query: str, limit: int, lang: str) -> str:
        "Search documents"
        return f"{limit} hits for {query} in {lang}"
    @a.tool_plain
    def add3(a: float, b: float, c: float) -> float:
        "Add three numbers"
        return a + b + c
    return a
LIM = UsageLimits(request_limit=None)
async def run(a): return (await a.run("What is the weather in Oslo?", usage_limits=LIM)).output
async def stream(a):
    k = 0
    async with a.run_stream("Write.", usage_limits=LIM) as r:
        async for t in r.stream_text(delta=True): k += len(t)
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
        t = make("m")._function_toolset.tools["get_weather"]; v = []
        s = t.function_schema
        for _ in range(30):
            t0 = time.perf_counter()
            for _ in range(500): await s.call(s.validator.validate_json('{"city":"Oslo","days":3,"metric":true}'), None)
            v.append((time.perf_counter()-t0)/500*1e9)
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
