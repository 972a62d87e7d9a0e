// Uses of the adapters, whose types are checked against those of the frameworks.

import { query } from '@anthropic-ai/claude-agent-sdk';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { Agent as OpenAiAgent } from '@openai/agents';
import { tool } from 'ai';
import { hooks } from 'midrail/claude';
import { guard as guardMastra } from 'midrail/mastra';
import { guard as guardOpenAi } from 'midrail/openai-agents';
import { vercel } from 'midrail/vercel';
import { z } from 'zod';

const inputSchema = z.object({ order: z.number() });

query({ prompt: 'work', options: { hooks: hooks({ session: 'chat-7', agent: { id: 'support' }, waitMs: 1_000 }) } });
// @ts-expect-error: a guard is no text.
hooks({ guard: 'default' });

const refund = createTool({ id: 'refund', description: 'x', inputSchema, execute: async ({ order }) => order });
const settings = { id: 'support', name: 'support', instructions: 'work', model: 'openai/gpt-5', tools: { refund } };
const agent = new MastraAgent(guardMastra(settings, { session: 'chat-7', unguarded: ['client'] }));
agent satisfies MastraAgent<any, any, any>;
// @ts-expect-error: an agent has instructions.
guardMastra({ id: 'support', name: 'support', model: 'openai/gpt-5' });

guardOpenAi(new OpenAiAgent({ name: 'support' }), { session: 'chat-7' }) satisfies OpenAiAgent<any, any>;
// @ts-expect-error: a text is no agent.
guardOpenAi('support');

const { tools } = vercel({ session: 'chat-7' });
tools({ refund: tool({ description: 'x', inputSchema, execute: async ({ order }) => order }) }).refund.inputSchema;
// @ts-expect-error: there is no such tool.
tools({}).refund;
